"""The redundant overlay: the tree of nodes as prepared (`routing_tree`) and as one broker sees it (`local_view`), and
the choice among the brokers of a node (`paths`; sections 2 and 3.1)."""
