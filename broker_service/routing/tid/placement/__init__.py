"""Places at which composite subscriptions are detected: DCSR and topology-based routing (section 4 of the paper).

`choice` decides where a unit goes from one broker. It compares costs (`cost`, with waiting times from `queueing`) of
flows whose rates are estimated (`cardinality`, `selection`) from statistics of publications (`statistics`,
`histograms`), and `explanation` shows the comparison to people. `exchange` carries statistics, and the times that
`measurement` takes, between brokers.

`units` carries units, detections and withdrawals along their paths, and `join_points` detects units and moves them.
`movement` decides whether, `confirmation` finds out when the new join point misses nothing, `overlap` when the former
one may end, and `recently_seen` keeps a set that both detect from being notified twice.
"""
