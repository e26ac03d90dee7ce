"""Scenarios of the gauntlet: a few brokers, a few virtual seconds, every protocol and its main options."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import yaml

from tests.gauntlet.running import Run

Fault = Mapping[str, object]
Operation = Mapping[str, object]

_EVERYTHING = "[class,eq,'STOCK'],[close,>,0]"


@dataclass(frozen=True)
class Scenario:
    """A scenario by its fields, as in a file."""

    name: str
    fields: Mapping[str, Any]

    def but(self, name: str, changes: Mapping[str, object]) -> Scenario:
        """This scenario under another name, with some fields changed; keys are dotted, as for `--set`."""
        fields = copy.deepcopy(dict(self.fields))
        for path, value in changes.items():
            *above, last = path.split(".")
            place = fields
            for key in above:
                place = place.setdefault(key, {})
            place[last] = value
        return Scenario(name, fields)

    def suffering(self, name: str, *faults: Fault, run: str = "7s") -> Scenario:
        """This scenario with faults, and a run phase of this length."""
        return self.but(f"{self.name}, {name}", {"faults": list(faults), "timeline.run": run})

    def doing(self, name: str, *operations: Operation) -> Scenario:
        """This scenario with further operations of clients."""
        former = self.fields["workload"].get("operations", [])
        return self.but(f"{self.name}, {name}", {"workload.operations": [*former, *operations]})

    @cached_property
    def text(self) -> str:
        """The file, YAML."""
        return yaml.safe_dump({"name": "gauntlet", **self.fields, "seed": 1}, sort_keys=False)

    @property
    def run(self) -> Run:
        return Run(self.text, self.name)


def _scenario(name: str, topology: Mapping[str, object], routing: Mapping[str, object], brokers: list[str]) -> Scenario:
    """Three publishers and six subscribers of quotes, and three clients that come and go while these publish.

    `brokers` are where the publishers and the others are, at least four.
    """
    first, second, third, fourth = brokers[:4]
    return Scenario(
        name,
        {
            "topology": topology,
            "routing": routing,
            "workload": {
                "publications": {"publishers": 3, "rate": "10/s", "placement": [first, second, third]},
                "subscriptions": {"subscribers": 6, "selectivity": "30%", "placement": brokers},
                "operations": [
                    {"at": "1s", "client": "Ann", "broker": fourth, "id": "a", "subscribe": _EVERYTHING},
                    {"at": "1s", "client": "Bob", "broker": second, "id": "b", "subscribe": _EVERYTHING},
                    {"at": "4s", "client": "Ann", "broker": fourth, "unsubscribe": "a"},
                    {"at": "4s", "client": "Cid", "broker": fourth, "id": "c", "subscribe": _EVERYTHING},
                ],
            },
            "timeline": {"join": "3s", "run": "5s", "drain": "2s"},
        },
    )


_LINK = {"delay": "4ms", "jitter": "5%"}
_NAMES = [f"B{number}" for number in range(1, 7)]
_CYCLIC = {"kind": "cyclic", "brokers": 6, "degree": 3, "link": {"delay": "3ms..6ms", "jitter": "5%"}}
_FULL = {"kind": "full", "brokers": 6, "link": {"delay": "3ms..8ms", "jitter": "5%"}}
_LINE = {"kind": "line", "brokers": 6, "link": _LINK}
_SCOT = {"kind": "scot", "acyclic": [["a", "b"], ["b", "c"]], "clusters": 2, "link": _LINK}
_SCOT_BROKERS = ["a0", "b1", "c0", "c1", "a1", "b0"]
_REDUNDANT = {"kind": "redundant-tree", "tree": [["pb", "ib"], ["ib", "sa"], ["ib", "sb"]], "link": _LINK}
_REDUNDANT_BROKERS = ["pb", "sa", "sb", "sb", "sa", "ib1"]

TID_LINE = _scenario("tid, a line", _LINE, {"protocol": "tid"}, _NAMES)
TID_FIXED = _scenario("tid, fixed", _CYCLIC, {"protocol": "tid"}, _NAMES)
TID_LATE = TID_FIXED.doing(
    "late advertisement",
    {"at": "4s", "client": "Gus", "broker": "B1", "id": "g", "advertise": _EVERYTHING},
    *(
        {"at": f"{at}s", "client": "Gus", "broker": "B1", "publish": "[class,'STOCK'],[close,50]"}
        for at in (6.5, 7, 7.5)
    ),
)
TID_DYNAMIC = _scenario("tid, dynamic", _CYCLIC, {"protocol": "tid", "publications": "dynamic"}, _NAMES)
OCTOPIA = _scenario("octopia, static", _SCOT, {"protocol": "octopia"}, _SCOT_BROKERS)
OCTOPIA_DYNAMIC = _scenario(
    "octopia, dynamic", _SCOT, {"protocol": "octopia", "publications": "inter-cluster-dynamic"}, _SCOT_BROKERS
)
MEDYM_MST = _scenario("medym, mst", _FULL, {"protocol": "medym", "algorithm": "mst"}, _NAMES)
MEDYM_CLOSE = _scenario("medym, close", _FULL, {"protocol": "medym", "algorithm": "close"}, _NAMES)
MEDYM_BALANCED = _scenario(
    "medym, balanced",
    _FULL,
    {"protocol": "medym", "algorithm": "balanced", "candidates": 2, "overload_threshold": 0.5},
    _NAMES,
)
MEDYM_SOURCE = _scenario("medym, source", _FULL, {"protocol": "medym", "algorithm": "source"}, _NAMES)
MEDYM_ADVERTISED = _scenario("medym, advertised", _FULL, {"protocol": "medym", "subscriptions": "advertised"}, _NAMES)
CBF = _scenario("cbf", _CYCLIC, {"protocol": "cbf"}, _NAMES)
CBF_COVERING = _scenario(
    "cbf, covering", _CYCLIC, {"protocol": "cbf", "advertisements": True, "aggregation": "covering"}, _NAMES
)
CHANNELIZATION = _scenario(
    "channelization", _FULL, {"protocol": "channelization", "channels": 5, "attribute": "close"}, _NAMES
)
GRYPHON = _scenario("gryphon", _REDUNDANT, {"protocol": "gryphon"}, _REDUNDANT_BROKERS)
GRYPHON_CUT_OFF = GRYPHON.but("gryphon, waited for 1 s", {"routing.forget_after": 1}).suffering(
    "a subscribers broker cut off for 4 s", {"at": "run+1s", "link_down": ["ib1-sb", "ib2-sb"], "for": "4s"}, run="9s"
)
"""A broker is cut off for longer than anything is kept for it."""
GRYPHON_FLOODING = _scenario(
    "gryphon, flooding", _REDUNDANT, {"protocol": "gryphon", "filtering": "flooding"}, _REDUNDANT_BROKERS
)
SEMI_FLOOD = _scenario(
    "semi-probabilistic, flooding", _CYCLIC, {"protocol": "semi-probabilistic", "threshold": 1}, _NAMES
)
SEMI = _scenario("semi-probabilistic", _CYCLIC, {"protocol": "semi-probabilistic", "horizon": 2}, _NAMES).but(
    "semi-probabilistic", {"expect": {"delivery": "50%"}}
)


def _composite(name: str, routing: Mapping[str, object]) -> Scenario:
    """Two sources in opposite directions, whose publications form pairs, and a chain of three for a second client."""
    operations: list[Operation] = [
        {"at": "0s", "client": "North", "broker": "B1", "id": "n", "advertise": "[class,eq,'NORTH'],[x,>,-1]"},
        {"at": "0s", "client": "South", "broker": "B5", "id": "s", "advertise": "[class,eq,'SOUTH'],[x,>,-1]"},
        {
            "at": "1s",
            "client": "Dee",
            "broker": "B3",
            "id": "d",
            "composite": "{[class,eq,'NORTH'],[x,eq,$I$X]} & {[class,eq,'SOUTH'],[x,eq,$I$X]}",
            "within": "1s",
        },
        {
            "at": "1s",
            "client": "Eve",
            "broker": "B6",
            "id": "e",
            "composite": "{[class,eq,'NORTH'],[x,>,15]} || {[class,eq,'SOUTH'],[x,>,17]}",
            "within": "1s",
        },
        {"at": "1s", "client": "Flo", "broker": "B4", "id": "f", "subscribe": "[class,eq,'NORTH']"},
    ]
    for number in range(20):
        at = 4 + number * 0.2
        for offset, client, broker in ((0, "North", "B1"), (0.05, "South", "B5")):
            operations.append(
                {
                    "at": f"{at + offset:.2f}s",
                    "client": client,
                    "broker": broker,
                    "publish": f"[class,'{client.upper()}'],[x,{number}]",
                }
            )
    return Scenario(
        name,
        {
            "topology": _LINE,
            "routing": routing,
            "workload": {"operations": operations},
            "timeline": {"join": "4s", "run": "5s", "drain": "2s"},
        },
    )


COMPOSITES_SIMPLE = _composite("composites, simple", {"protocol": "tid"})
COMPOSITES_TOPOLOGY = _composite("composites, topology", {"protocol": "tid", "composites": "topology"})
COMPOSITES_DCSR = _composite(
    "composites, dcsr",
    {"protocol": "tid", "composites": "dcsr", "statistics_interval": 0.5, "placement_interval": 1},
)
COMPOSITES_CBF = _composite("composites, cbf", {"protocol": "cbf"})
COMPOSITES_WINDOW = COMPOSITES_SIMPLE.doing(
    "a short window",
    {
        "at": "1s",
        "client": "Gil",
        "broker": "B6",
        "id": "g",
        "composite": "{[class,eq,'NORTH'],[x,>,-1]} & {[class,eq,'SOUTH'],[x,>,-1]}",
        "within": "100ms",
    },
)
COMPOSITES_WITHDRAWN = COMPOSITES_SIMPLE.doing(
    "withdrawn", {"at": "4500ms", "client": "Dee", "broker": "B3", "unsubscribe": "d"}
)

_CONDITIONS = (
    "[x,=,5]",
    "[x,<>,5]",
    "[x,<,5]",
    "[x,<=,5]",
    "[x,>,5]",
    "[x,>=,5]",
    "[x,>=,2],[x,<=,5]",
    "[x,>,9007199254740992]",
    "[y,isPresent,0]",
    "[s,eq,'beta']",
    "[s,neq,'beta']",
    "[s,str-lt,'beta']",
    "[s,str-le,'beta']",
    "[s,str-gt,'beta']",
    "[s,str-ge,'beta']",
    "[s,str-prefix,'be']",
    "[s,str-postfix,'ta']",
    "[s,str-contains,'et']",
)
"""Conditions with each operator of the language."""
_CONTENTS = (
    *(f"[x,{x}]" for x in (-1, 0, 2, 4.5, 5, 5.5, 9007199254740992, 9007199254740993)),
    *(f"[s,'{text}']" for text in ("alpha", "be", "beta", "gamma", "zeta", "Beta", "")),
    "[x,5],[s,'beta'],[y,1]",
    "[x,5],[y,0]",
)
"""Publications at the bounds of these conditions, and beside them."""


def _language() -> Scenario:
    """A client for each condition, and publications at every bound, in turn from both ends of a line."""
    advertised = "[class,eq,'T'],[x,isPresent,0],[y,isPresent,0],[s,isPresent,'A']"
    operations: list[Operation] = [
        {"at": "0s", "client": client, "broker": broker, "id": "a", "advertise": advertised}
        for client, broker in (("West", "B1"), ("East", "B3"))
    ]
    operations += [
        {
            "at": "500ms",
            "client": f"C{number}",
            "broker": f"B{1 + number % 3}",
            "id": "c",
            "subscribe": f"[class,eq,'T'],{condition}",
        }
        for number, condition in enumerate(_CONDITIONS, 1)
    ]
    operations += [
        {
            "at": f"{3 + number * 0.05:.2f}s",
            "client": ("West", "East")[number % 2],
            "broker": ("B1", "B3")[number % 2],
            "publish": f"[class,'T'],{content}",
        }
        for number, content in enumerate(_CONTENTS * 2 + _CONTENTS[:1] + _CONTENTS)
    ]
    return Scenario(
        "language",
        {
            "topology": {"kind": "line", "brokers": 3, "link": _LINK},
            "routing": {"protocol": "cbf"},
            "workload": {"operations": operations},
            "timeline": {"join": "2900ms", "run": "3s", "drain": "1s"},
        },
    )


LANGUAGE_CBF = _language()
LANGUAGE_TID = LANGUAGE_CBF.but("language, tid", {"routing": {"protocol": "tid"}})

CALM: tuple[Scenario, ...] = (
    TID_LINE,
    TID_FIXED,
    TID_DYNAMIC,
    OCTOPIA,
    OCTOPIA_DYNAMIC,
    MEDYM_MST,
    MEDYM_CLOSE,
    MEDYM_BALANCED,
    MEDYM_SOURCE,
    MEDYM_ADVERTISED,
    CBF,
    CBF_COVERING,
    CHANNELIZATION,
    GRYPHON,
    GRYPHON_FLOODING,
    SEMI_FLOOD,
    SEMI,
    COMPOSITES_SIMPLE,
    COMPOSITES_TOPOLOGY,
    COMPOSITES_DCSR,
    COMPOSITES_CBF,
    LANGUAGE_CBF,
    LANGUAGE_TID,
)
"""Scenarios without faults, one for each way to route."""
