"""Driver processes, which issue the operations of all clients."""
