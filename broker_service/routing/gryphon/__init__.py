"""Gryphon: subscriptions propagated with virtual-time vectors over redundant nodes (Zhao, Sturman, Bhola, 2004)."""
