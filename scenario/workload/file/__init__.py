"""Workloads of kind `file`: operations read from a table, row by row, so that its length takes no memory."""
