"""Streams of publications as state without routing: the log of the publishers' broker (`publisher_log`), the knowledge
of a broker on the way (`state`), the order in which a leaf processes positions (`horizon`), and its requests for those
that it lacks (`gap_requests`). The paper leaves this part to other protocols (section 3.6)."""
