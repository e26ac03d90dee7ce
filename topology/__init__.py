"""Broker overlays and mesh underlays: the models, generators, files, measures and drawings.

The generators of the papers' overlays (docs/topologies.md lists the overlays by name, in the papers' sizes):

- TID routing: `shapes.cyclic`, a random overlay of a mean degree; `underlays.planetlab` for its wide-area experiment
- OctopiA: `shapes.scot`, the Cartesian product; `structures.scot` has its clusters and regions,
  `structures.recognition` finds one in a graph
- MEDYM and content-based forwarding: `underlays.transit_stub` and `underlays.planetlab`, meshes
- Gryphon: `shapes.redundant_tree`
- semi-probabilistic routing: `shapes.random_regular`
"""
