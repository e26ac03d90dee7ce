"""Dynamic multicast: the pure functions MST, CloseMST and BalancedMST (`routing_functions`), and a server's decisions
by them, which it caches (`decisions`). `destination_lists` are what travels in headers, and `load` tells which servers
are overloaded (sections 3.1 and 4.1)."""
