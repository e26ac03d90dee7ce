"""Relaying of publications and of messages about streams through one broker (section 3.5). `relay` receives them;
`forwarding` sends them on to nodes, `retransmission` answers requests, and `reception` is the part of the broker's own
leaf."""
