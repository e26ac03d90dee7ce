"""The history of a variant, by which the oracle judges: operations, faults, and losses that the promises accept."""
