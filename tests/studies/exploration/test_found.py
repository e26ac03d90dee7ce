"""Schedules that exploration has found, and whose defects are mended."""

from __future__ import annotations

import pytest

from scenario.loading import load_text
from studies.exploration.judged_run import judging_room

UNITS = """
name: units
topology: {kind: explicit, links: [{between: [B4, B5], delay: 2ms}, {between: [B3, B5], delay: 1ms}]}
routing: {protocol: tid, composites: dcsr, statistics_interval: 0.5, placement_interval: 1.0}
workload:
  operations:
    - {at: 0.4s, client: P3, broker: B3, id: a, advertise: "[class,eq,'A'],[x,>=,0],[x,<=,5]"}
    - {at: 0.5s, client: P2, broker: B4, id: a, advertise: "[class,eq,'A'],[x,>=,3],[x,<=,5]"}
    - {at: 2.8s, client: C, broker: B4, id: c, composite: "{[class,eq,'A'],[x,>=,3]} & {[class,eq,'A'],[x,>=,0]}",
       within: 880ms}
    - {at: 3s, client: P3, broker: B3, publish: "[class,'A'],[x,4]"}
timeline: {join: 3s, run: 9s, drain: 1min, withdraw: 1min}
faults: [{at: run+1800ms, kill: B5, for: 2200ms}]
"""
"""A broker between a subscriber and the join point of its composite subscription is restarted."""

SITES = """
name: sites
topology: {{kind: explicit, links: [{{between: [B1, B2], delay: 5ms}}]}}
routing: {{protocol: tid}}
workload:
  operations:
    - {{at: 1s, client: P, broker: B1, id: a, advertise: "[class,eq,'A']"}}
    - {{at: 2s, client: S, broker: B2, id: s, subscribe: "[class,eq,'A']"}}
    - {{at: 12s, client: P, broker: B1, publish: "[class,'A']"}}
clients: {{sites: {{home: {{broker: B2, clients: [S], delay: 50ms}}, empty: {{broker: B1, clients: [], delay: 9ms}},
  near: {{broker: B2, clients: [], delay: 1ms}}}}}}
timeline: {{join: 3s, run: 11s, drain: 1min, withdraw: 1min}}
faults: [{faults}]
"""
SITE_FAULTS = {
    "a restart and a pause": "{at: 7s, kill: B2, for: 2s}, {at: 8s, pause: home, for: 5s}",
    "a session outlives its client": "{at: 13s, move: home, to: B1}",
    "vanishing on the way": "{at: 4s, move: home, to: B1, away: 160ms}, {at: 4.1s, vanish: home, for: 1s}",
    "a crash with two sessions": "{at: 4s, move: home, to: B1, handover: make before break, overlap: 2s}, "
    "{at: 5s, crash: S, for: 500ms}",
    "a pause with two sessions": "{at: 4s, move: home, to: B1, handover: make before break, overlap: 2s}, "
    "{at: 5s, pause: S, for: 5s}",
    "nobody vanishes": "{at: 4s, vanish: empty, for: 1s}",
    "nobody is cut off": "{at: 4s, move: empty, to: B2}, {at: 5s, link_down: empty-B2, for: 1s}",
    "a cut of a link to come": "{at: 6s, move: home, to: B1}, {at: 4s, link_down: home-B1, for: 1s}",
    "nobody moves twice at once": "{at: 4s, move: empty, to: B2, handover: make before break}, "
    "{at: 4s, move: empty, to: B2}",
    "a goal that moves": "{at: 4s, move: S, to: empty, handover: make before break, overlap: 6s}, "
    "{at: 5s, move: empty, to: B2}",
}
"""Faults of sites that the simulator, or the judge, once did not bear."""

SLOW_READER = """
name: slow-reader
topology: {kind: explicit, links: [{between: [B2, B3], delay: 4ms}]}
routing: {protocol: tid}
workload:
  operations:
    - {at: 1s, client: P, broker: B3, id: a, advertise: "[class,eq,'A']"}
    - {at: 2s, client: S, broker: B2, id: s1, subscribe: "[class,eq,'A']"}
    - {at: 8s, client: P, broker: B3, publish: "[class,'A'],[x,1]"}
    - {at: 8s, client: P, broker: B3, publish: "[class,'A'],[x,2]"}
    - {at: 8.1s, client: S, broker: B2, id: s2, subscribe: "[class,eq,'B']"}
clients: {sites: {far: {broker: B2, clients: [S], delay: 7ms, reads: 15/min}}}
timeline: {join: 8s, run: 4s, drain: 1min, withdraw: 1min}
"""
"""An answer that waits behind notifications that a slow reader takes eight seconds for."""

TWO_STREAMS = """
name: two-streams
topology:
  {kind: redundant-tree, tree: random-tree, nodes: 4, replicas: 2, link: {delay: 12.9ms..346669us, loss: 5%}}
routing: {protocol: gryphon}
workload:
  operations:
    - {at: 0.4s, client: P2, broker: A, id: a, advertise: "[class,eq,'A'],[x,>=,0],[x,<=,5]"}
    - {at: 3.1s, client: S1, broker: B, id: s2, subscribe: "[class,eq,'A'],[x,>=,0],[x,<=,5]"}
    - {at: 12.5s, client: P2, broker: A, publish: "[class,'A'],[x,4]"}
    - {at: 12.5s, client: P2, broker: A, publish: "[class,'A'],[x,1]"}
    - {at: 12.5s, client: P2, broker: A, publish: "[class,'A'],[x,5]"}
    - {at: 12.6s, client: P2, broker: A, publish: "[class,'A'],[x,3]"}
    - {at: 13.4s, client: P2, broker: A, publish: "[class,'A'],[x,5]"}
clients: {sites: {site2: {broker: A, clients: [P2], delay: 35.5ms}}}
timeline: {join: 8s, run: 8s, drain: 10min, withdraw: 10min}
faults: [{at: join+13.4s, move: site2, to: B}, {at: join+13.6s, kill: B, for: 2.6s}]
seed: 157014172
"""
"""A publisher moves, and its publication at the new broker comes before the last one at the former broker, which the
crash of the subscriber's broker costs: each broker has a stream of its own."""

HELD_COPY = """
name: held-copy
topology:
  kind: explicit
  links: [{between: [B1, B2], delay: 1ms}, {between: [B1, B3], delay: 7ms}, {between: [B2, B3], delay: 5ms}]
routing: {protocol: medym, algorithm: mst, locations: given}
workload:
  operations:
    - {at: 0.6s, client: P3, broker: B3, id: a, advertise: "[class,eq,'A'],[x,>=,2],[x,<=,5]"}
    - {at: 1.1s, client: S1, broker: B1, id: s2, subscribe: "[class,eq,'A'],[x,>=,0],[x,<=,5]"}
    - {at: 2.2s, client: S2, broker: B2, id: s1, subscribe: "[class,eq,'A'],[x,>=,4],[x,<=,5]"}
    - {at: 3.3s, client: P3, broker: B3, publish: "[class,'A'],[x,4]"}
    - {at: 15.1s, client: P3, broker: B3, publish: "[class,'A'],[x,5]"}
timeline: {join: 3s, run: 15.3s, drain: 10min, withdraw: 10min}
faults:
  - {at: join+11.7s, for: 3.6s, partition: [[B2, B1], [rest]]}
  - {at: join+15.8s, for: 7.2s, stop: [B3]}
seed: 1004175669
"""
"""A broker holds a copy for each of two neighbours that it has lost. It sends one as soon as that link is back, and is
stopped before the other one is."""

CUT_OFF = """
name: cut-off
topology: {kind: redundant-tree, tree: line, nodes: 4, replicas: 1, link: {delay: 303ms}}
routing: {protocol: gryphon}
workload: {operations: [{at: 1s, client: S3, broker: A, id: s3, subscribe: "[class,eq,'B'],[x,>=,1],[x,<=,5]"}]}
timeline: {join: 3s, run: 11s, drain: 10min, withdraw: 10min}
brokers: {limits: {heartbeat: 367ms}}
faults: [{at: join+2s, for: 10s, kill: [B1]}]
seed: 182128817
"""
"""The only neighbour of a subscriber's broker is killed. After its restart the subscription crosses three long links,
with an offer, a question and an answer on each, and its announcement comes back over them."""

PUBLISHER_CUT_OFF = """
name: publisher-cut-off
topology:
  kind: explicit
  links: [{between: [B1, B3], delay: 2ms}, {between: [B3, B4], delay: 4ms}, {between: [B1, B4], delay: 2ms}]
routing: {protocol: cbf, advertisements: true}
workload:
  operations:
    - {at: 1s, client: P1, broker: B4, id: a, advertise: "[class,eq,'B'],[x,>=,2],[x,<=,5]"}
    - {at: 2s, client: S1, broker: B4, id: s3, subscribe: "[class,eq,'B'],[x,>=,0],[x,<=,3]"}
    - {at: 24s, client: P1, broker: B4, publish: "[class,'B'],[x,3]"}
clients: {sites: {site3: {broker: B4, clients: [P1], delay: 1.56ms}}}
timeline: {join: 3s, run: 22s, drain: 10min, withdraw: 10min}
faults: [{at: join+11s, for: 31s, link_down: [B1->B4]}, {at: join+16s, move: [site3], to: B3}]
seed: 1190948726
"""
"""A publisher moves to a broker from which its advertisement cannot cross the overlay before it publishes."""

VANISHED = """
name: vanished
topology: {kind: explicit, links: [{between: [B1, B2], delay: 1ms}]}
routing: {protocol: cbf}
workload:
  operations:
    - {at: 0.5s, client: P1, broker: B2, id: a, advertise: "[class,eq,'B'],[x,>=,4],[x,<=,4]"}
    - {at: 1.6s, client: C1, broker: B1, id: c, composite: "{[class,eq,'B'],[x,>=,4]} & {[class,eq,'B'],[x,<=,4]}",
       within: 370ms}
    - {at: 49.8s, client: P1, broker: B2, publish: "[class,'B'],[x,4]"}
    - {at: 52.8s, client: P1, broker: B2, publish: "[class,'B'],[x,4]"}
clients: {sites: {site2: {broker: B1, clients: [C1], delay: 104ms}}}
timeline: {join: 3s, run: 62s, drain: 10min, withdraw: 10min}
faults: [{at: join+0.4s, for: 16.8s, stop: [B1]}, {at: join+50.2s, for: 56.8s, vanish: [site2]}]
seed: 285249037
"""
"""A client vanishes after a detection has shown that its composite subscription stood again since its broker failed."""

HELD_DETECTION = """
name: held-detection
topology:
  kind: explicit
  links: [{between: [B1, B2], delay: 2ms}, {between: [B2, B6], delay: 1ms}, {between: [B6, B7], delay: 1ms}]
routing: {protocol: tid, composites: dcsr}
workload:
  operations:
    - {at: 0s, client: P, broker: B7, id: a, advertise: "[class,eq,'A'],[x,>=,0]"}
    - {at: 2s, client: C, broker: B1, id: c, composite: "{[class,eq,'A'],[x,>=,0]} & {[class,eq,'A'],[x,>=,1]}",
       within: 4s}
    - {at: 10s, client: P, broker: B7, publish: "[class,'A'],[x,1]"}
timeline: {join: 3s, run: 12s, drain: 1min, withdraw: 1min}
faults: [{at: join+10s, for: 5s, link_down: B7->B6}, {at: join+13s, for: 1s, kill: B2}]
"""
"""A detection waits for a link that is down, while a broker beyond is restarted and its unit is routed anew."""

TWO_SESSIONS = """
name: two-sessions
topology: {kind: redundant-tree, tree: random-tree, nodes: 2, replicas: 1, link: {delay: 60ms}}
routing: {protocol: gryphon}
workload:
  operations:
    - {at: 0.8s, client: P, broker: B, id: a, advertise: "[class,eq,'A'],[x,>=,0]"}
    - {at: 3.4s, client: S, broker: B, id: s, subscribe: "[class,eq,'A']"}
    - {at: 12.23s, client: P, broker: B, publish: "[class,'A'],[x,0]"}
    - {at: 12.23s, client: P, broker: B, publish: "[class,'A'],[x,1]"}
    - {at: 12.23s, client: P, broker: B, publish: "[class,'A'],[x,2]"}
    - {at: 12.23s, client: P, broker: B, publish: "[class,'A'],[x,3]"}
    - {at: 12.99s, client: P, broker: B, publish: "[class,'A'],[x,4]"}
clients:
  sites: {slow: {broker: B, clients: [P, S], reads: 3/s}, other: {broker: B, clients: []}}
  unread: drop newest
timeline: {join: 8s, run: 8s, drain: 1min, withdraw: 1min}
faults:
  - {at: join+12.5s, move: S, to: other, handover: make before break}
"""
"""A slow reader moves softly between two sites of its broker: notifications over its new access link overtake those
that it has yet to read over the old one, and it never reads the last of these."""

LATE_SESSION = SITES.replace("at: 2s", "at: 11s")
"""A client moves between two sites of its broker before it has its first session, which would open behind the second
and take the client from that."""

NAMESAKES = SITES.replace("client: S,", "client: B1,").replace("[S]", "[B1]")
"""A client with the name of a broker that is not its own: a fault of the broker is none of the client's."""

_OF_SITES = {name: SITES.format(faults=faults) for name, faults in SITE_FAULTS.items()}
_OF_LATE = {"late session": LATE_SESSION.format(faults="{at: join+0s, move: S, to: near, handover: make before break}")}
EMPTY_SITE = SITES.replace("protocol: tid", "protocol: semi-probabilistic, horizon: 0")
"""A site that nobody is on moves, and its access link fails there."""
_OF_EMPTY = {"empty site": EMPTY_SITE.format(faults="{at: 4s, move: empty, to: B2}, {at: 8s, vanish: empty, for: 1s}")}
_OF_NAMESAKES = {"namesakes": NAMESAKES.format(faults="{at: 11s, stop: B1, for: 900ms}")}
FOUND = {
    "units": UNITS,
    "slow reader": SLOW_READER,
    "two streams": TWO_STREAMS,
    "held copy": HELD_COPY,
    "cut off": CUT_OFF,
    "publisher cut off": PUBLISHER_CUT_OFF,
    "vanished": VANISHED,
    "held detection": HELD_DETECTION,
    "two sessions": TWO_SESSIONS,
    **_OF_SITES,
    **_OF_LATE,
    **_OF_EMPTY,
    **_OF_NAMESAKES,
}


@pytest.mark.parametrize("scenario", FOUND.values(), ids=FOUND)
def test_the_verdict_is_correct(scenario: str) -> None:
    with judging_room() as room:
        assert room.judged(load_text(scenario, "found")).kinds == ()
