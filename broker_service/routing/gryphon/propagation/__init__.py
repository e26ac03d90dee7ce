"""Propagation of subscription changes over the tree, until every broker that can be reached has them (sections 3.4 and
4). `propagation` applies changes and keeps V_b; `dissemination` passes them on and waits for acknowledgements, of which
`exchanges` keeps account by party."""
