"""Honest runs: nothing is planted, so that no verdict may blame anybody.

The fixed ones have faults of every kind on every protocol, long links, short joins, and intervals of announcements that
are longer than a run is used to. Others draw protocol, links and faults from a seed.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence

from tests.gauntlet import scenarios
from tests.gauntlet.scenarios import Fault, Scenario

_FAULTS: Mapping[str, Sequence[Fault]] = {
    "a crash": [{"at": "run+1s", "kill": "random", "for": "1s"}],
    "a crash of the hub": [{"at": "run+1s", "kill": "hub", "for": "2s"}],
    "a crash for good": [{"at": "run+2s", "kill": "edge-broker"}],
    "two crashes at once": [{"at": "run+1s", "kill": "random(2)", "for": "1500ms"}],
    "a stop": [{"at": "run+1s", "stop": "random", "for": "1s"}],
    "a pause": [{"at": "run+1s", "pause": "random", "for": "1500ms"}],
    "a long pause": [{"at": "run+1s", "pause": "hub", "for": "5s"}],
    "a slow broker": [{"at": "run+1s", "slow": "hub", "service_time": "5ms", "for": "3s"}],
    "a cut link": [{"at": "run+1s", "link_down": "random-link", "for": "5s"}],
    "a short cut": [{"at": "run+1s", "link_down": "busiest", "for": "500ms"}],
    "a cut of one direction": [{"at": "run+1s", "partition": {"from": "random", "to": "rest"}, "for": "4s"}],
    "a partition": [{"at": "run+1s", "partition": ["random(2)", "rest"], "for": "4s"}],
    "a flapping link": [{"at": "run+1s", "flap": "random-link", "down": "300ms", "up": "400ms", "for": "3s"}],
    "a degraded link": [
        {"at": "run+1s", "degrade": "links-of(random)", "delay": "80ms", "jitter": "5ms", "loss": "2%", "for": "3s"}
    ],
    "corruption": [{"at": "run+1s", "corrupt": "random-link", "share": "5%", "for": "3s"}],
    "a reset": [{"at": "run+1s", "reset": "random-link"}, {"at": "run+2s", "reset": "busiest"}],
    "a crash during a cut": [
        {"at": "run+1s", "link_down": "random-link", "for": "3s"},
        {"at": "run+2s", "kill": "random", "for": "1s"},
    ],
    "crashes one after the other": [
        {"at": "run+500ms", "kill": "random", "for": "500ms"},
        {"at": "run+3s", "kill": "random", "for": "500ms"},
    ],
}
_DISTURBED: Sequence[Fault] = [
    {"at": "run+500ms", "disturb": "random-link", "lose": "5%", "repeat": "5%", "hold": "5% by 50ms", "for": "4s"}
]

_PROTOCOLS = (
    scenarios.TID_LINE,
    scenarios.TID_FIXED,
    scenarios.TID_DYNAMIC,
    scenarios.OCTOPIA,
    scenarios.OCTOPIA_DYNAMIC,
    scenarios.MEDYM_CLOSE,
    scenarios.MEDYM_SOURCE,
    scenarios.MEDYM_ADVERTISED,
    scenarios.CBF,
    scenarios.CBF_COVERING,
    scenarios.CHANNELIZATION,
    scenarios.GRYPHON,
    scenarios.SEMI_FLOOD,
    scenarios.SEMI,
)
_COMPOSITES = (
    scenarios.COMPOSITES_SIMPLE,
    scenarios.COMPOSITES_TOPOLOGY,
    scenarios.COMPOSITES_DCSR,
    scenarios.COMPOSITES_CBF,
)
_EACH = 6
"""Kinds of faults that each protocol is run with among the fixed runs; together all kinds come up several times."""
_LEAVING = "5s"
_SOFT = "make before break"


def fixed() -> Iterator[Scenario]:
    """The fixed honest runs."""
    yield from scenarios.CALM
    yield from _faulty()
    yield from _far()
    yield from _slow_to_announce()
    yield from _withdrawn()
    yield from _roaming()


def drawn(seed: int, number: int) -> Scenario:
    """The honest run of this number that a seed draws."""
    draws = random.Random(f"{seed}:{number}")
    base = draws.choice((*_PROTOCOLS, *_COMPOSITES))
    run, join = draws.uniform(4, 9), draws.uniform(3, 5)
    low = draws.choice((1, 5, 20, 100))
    faults = [_drawn_fault(draws, run) for _ in range(draws.choice((1, 1, 2, 3)))]
    changes: dict[str, object] = {
        "topology.link": {"delay": f"{low}ms..{low * draws.randint(1, 4)}ms", "jitter": f"{draws.randint(0, 10)}%"},
        "timeline.run": f"{run:.2f}s",
        "faults": faults,
    }
    if base not in _COMPOSITES:
        changes["timeline.join"] = f"{join:.2f}s"
    verbs = ", ".join(next(key for key in fault if key not in ("at", "for")) for fault in faults)
    return base.but(f"drawn {seed}:{number}: {base.name}, {verbs}", changes)


def _drawn_fault(draws: random.Random, run: float) -> Fault:
    fault = dict(draws.choice([fault for faults in _FAULTS.values() for fault in faults]))
    fault["at"] = f"run+{draws.uniform(0, run - 0.2):.2f}s"
    if "for" in fault:
        fault["for"] = f"{draws.uniform(0.1, 4):.2f}s"
    return fault


def _faulty() -> Iterator[Scenario]:
    kinds = list(_FAULTS.items())
    for place, protocol in enumerate(_PROTOCOLS):
        for turn in range(_EACH):
            name, faults = kinds[(place * 5 + turn * 3) % len(kinds)]
            yield protocol.suffering(name, *faults)
    for place, composites in enumerate(_COMPOSITES):
        for turn in range(2):
            name, faults = kinds[(place * 4 + turn * 7) % len(kinds)]
            yield composites.suffering(name, *faults, run="5s")
    yield scenarios.TID_LINE.suffering(
        "a stop behind a cut",
        {"at": "run+1s", "link_down": "B2-B3", "for": "4s"},
        {"at": "run+2s", "stop": "B2", "for": "4s"},
    )
    yield scenarios.CHANNELIZATION.suffering(
        "a crash behind a partition",
        {"at": "run+1s", "partition": [["B2", "B3"], "rest"], "for": "3s"},
        {"at": "run+2200ms", "kill": "B1"},
    )
    yield scenarios.GRYPHON.suffering("disturbed links", *_DISTURBED)
    yield scenarios.GRYPHON_CUT_OFF
    yield scenarios.GRYPHON.but("gryphon, streams that do not resume", {"brokers.limits": {"resume": False}}).suffering(
        "resets", *_FAULTS["a reset"]
    )


def _far() -> Iterator[Scenario]:
    """Long links and short joins: what has to settle takes as long as the overlay takes."""
    for protocol in _PROTOCOLS:
        link = {"delay": "1ms..400ms", "jitter": "20%"}
        yield protocol.but(f"{protocol.name}, links of 1 to 400 ms", {"topology.link": link})
    for protocol in (
        scenarios.TID_LINE,
        scenarios.CBF.but("cbf, a line", {"topology": {"kind": "line", "brokers": 6}}),
    ):
        yield protocol.but(
            f"{protocol.name}, links of 500 ms", {"topology.link": {"delay": "500ms"}, "timeline.run": "8s"}
        )
    for protocol in (scenarios.TID_FIXED, scenarios.OCTOPIA, scenarios.MEDYM_CLOSE, scenarios.GRYPHON):
        yield protocol.but(
            f"{protocol.name}, a short join",
            {"topology.link": {"delay": "60ms"}, "timeline": {"join": "1100ms", "run": "6s", "drain": "2s"}},
        )
    yield scenarios.GRYPHON.but("gryphon, links of 400 ms", {"topology.link": {"delay": "400ms"}, "timeline.run": "7s"})
    yield scenarios.GRYPHON.but(
        "gryphon, a crash on links of 1 to 400 ms", {"topology.link": {"delay": "1ms..400ms", "jitter": "20%"}}
    ).suffering("a crash", {"at": "run+3s", "kill": "pb", "for": "1s"}, run="12s")
    yield scenarios.TID_LINE.but("tid, a line, links of 400 ms", {"topology.link": {"delay": "400ms"}}).suffering(
        "a crash", {"at": "run+1s", "kill": "B4", "for": "1s"}, run="9s"
    )


def _slow_to_announce() -> Iterator[Scenario]:
    late = {"at": "2920ms", "client": "Zoe", "broker": "sb", "id": "z", "subscribe": "[class,eq,'STOCK'],[close,>,0]"}
    yield scenarios.GRYPHON.doing("a start 80 ms before the run", late)
    for base in (scenarios.MEDYM_CLOSE, scenarios.MEDYM_ADVERTISED):
        yield base.but(f"{base.name}, announced every 5 s", {"routing.announce_every": 5, "timeline.run": "9s"})
        yield base.but(f"{base.name}, passed on every 1 s", {"routing.pass_on_every": 1, "timeline.run": "8s"})
    yield scenarios.CBF.but("cbf, announced after 2 s", {"routing.announce_after": 2, "timeline.run": "9s"})
    yield scenarios.GRYPHON.but("gryphon, batches of 1 s", {"routing.batch": 1, "timeline.run": "7s"})


def _withdrawn() -> Iterator[Scenario]:
    for protocol in (*_PROTOCOLS, *_COMPOSITES):
        yield protocol.but(f"{protocol.name}, withdrawn", {"timeline.withdraw": _LEAVING})


def _roaming() -> Iterator[Scenario]:
    """Moves on links of 100 ms, so that clients are at their new brokers ahead of what they have got, or behind what
    they have not: a subscriber's without a word and with both sessions, a publisher's, and absences of both."""
    for protocol in _PROTOCOLS:
        near, _, _, far, *_ = brokers = protocol.fields["workload"]["subscriptions"]["placement"]
        placed = protocol.fields["workload"]["publications"]["placement"][0]
        yield protocol.but(
            f"{protocol.name}, roaming",
            {
                "topology.link": {"delay": "100ms"},
                "clients": {
                    "sites": {
                        "berlin": {"broker": near, "clients": ["S1"], "delay": "5ms"},
                        "market": {"broker": placed, "clients": ["P1"], "delay": "5ms"},
                    }
                },
                "timeline": {"join": "8s", "run": "20s", "drain": "5s"},
                "workload.operations": [],
                "faults": [
                    {"at": "run+2s", "move": "berlin", "to": far},
                    {"at": "run+5s", "move": "market", "to": brokers[2]},
                    {"at": "run+8s", "move": "berlin", "to": near, "handover": _SOFT, "overlap": "5s"},
                    {"at": "run+9s", "move": "market", "to": placed, "handover": _SOFT, "overlap": "4s"},
                    {"at": "run+15s", "crash": "S1", "for": "1s"},
                    {"at": "run+16s", "vanish": "market", "for": "1s"},
                ],
            },
        )
