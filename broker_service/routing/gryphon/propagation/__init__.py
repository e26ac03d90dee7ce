"""Propagation of subscription changes over the tree, until every broker that can be reached has them (sections 3.4 and
4). `propagation` applies changes to what is known and asks for states that it lacks (`asking`). `dissemination` waits
until the parties around the broker have acknowledged them, with which `parties` has exchanges."""
