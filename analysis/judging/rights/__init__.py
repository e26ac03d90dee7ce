"""Rights of clients: the subscriptions by which a client must, may and must not get a publication, and from when."""
