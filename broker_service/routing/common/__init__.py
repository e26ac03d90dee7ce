"""Parts that routing protocols share: identifiers, reading of messages, tables, reconciliation, congestion, meshes."""
