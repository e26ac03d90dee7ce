"""Networks under an overlay: latencies between all pairs of servers, and networks of routers, with their generators."""
