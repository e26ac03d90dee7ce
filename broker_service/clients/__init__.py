"""Operations of clients on their way to the router: declarations, publications, and the sessions that bring them."""
