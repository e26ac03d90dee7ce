"""Places at which composite subscriptions are detected: DCSR and topology-based routing (section 4 of the paper).

`decision` is about where a unit goes from one broker: it compares the costs of flows, whose rates are estimated in
`rates` from statistics of publications. `exchange` carries these statistics, and the times that brokers take, between
brokers.

`units` carries units, detections and withdrawals along their paths, and `join_points` detects units and moves them.
`movement` decides whether, `confirmation` finds out when the new join point misses nothing, `overlap` when the former
one may end, and `seen_sets` keeps a set that both detect from being notified twice.
"""
