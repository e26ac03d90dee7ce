"""Virtual time of leaves: the clock of one leaf, vectors with a time of each leaf, and digests that stand for vectors
in messages (sections 3.2, 3.3 and 5.1)."""
