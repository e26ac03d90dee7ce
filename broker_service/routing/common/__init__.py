"""Parts that routing protocols share: identifiers, decoding, dispatch, tables, reconciliation, congestion, meshes."""
