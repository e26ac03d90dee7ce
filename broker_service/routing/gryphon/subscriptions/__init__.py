"""Subscriptions as sets of conjunctions that cover each other: those of a leaf's clients, with their virtual start
times (`leaf_subscriptions`), and those that a broker has been told of (`roots`; section 3.3). Nothing here sends a
message."""
