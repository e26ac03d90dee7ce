"""The log of a node: records are stamped, sampled and written."""
