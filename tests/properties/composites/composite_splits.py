"""Workloads in which units are split into sub-units: several publishers lie in one direction from where a unit splits.

A trunk of brokers leads from the subscriber to a fork of two arms, each of which forks again to two publishers. Each
publisher has a class of its own, so that operands of a pattern have common destinations on the way.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

from hypothesis import strategies as st

from studies.conformance.model import Case
from tests.properties.composites.composite_strategies import VARIABLES, Composers, pattern_of
from tests.properties.drawing import integers, one_of
from tests.properties.strategies import JITTERS, WAITS, Storm

CLASSES = "ABCD"
_parts = st.tuples(one_of(CLASSES), one_of(("", *VARIABLES))).map(
    lambda drawn: f"{{[class,eq,'{drawn[0]}'],[price,>=,0]{drawn[1]}}}"
)
_wide = st.tuples(st.permutations(CLASSES), integers(3, 4), one_of(("", "", ",[price,=,$I$X]"))).map(
    lambda drawn: "&".join(f"{{[class,eq,'{name}'],[price,>=,0]{drawn[2]}}}" for name in drawn[0][: drawn[1]])
)
patterns = _wide | pattern_of(_parts, most_parts=5)


def _advertisement(name: str) -> str:
    return f"[class,eq,'{name}'],[price,>=,0],[price,<=,1]"


class Publishers(Composers):
    """C1 to C4 publish, one class each, and C5 composes."""

    texts: Mapping[str, st.SearchStrategy[str]] = {
        "advertise": one_of(CLASSES).map(_advertisement),
        "subscribe": patterns,
    }

    def open(self) -> None:
        for number, name in enumerate(CLASSES, 1):
            client = f"C{number}"
            text = _advertisement(name)
            self.said[client, "advertise"] = {"x": text}
            self.step("advertise", client=client, broker=self.labels[client], id="x", text=text)
        self._declare("C5", "subscribe")


@st.composite
def forks(draw: st.DrawFn) -> dict[str, Any]:
    """The overlay, with a link besides sometimes, and the brokers of the publishers and of the subscriber."""
    names = [f"B{number}" for number in range(1, draw(integers(1, 2)) + 1)]
    pairs = list(pairwise(names))
    fork = names[-1]
    ends: list[str] = []
    for _ in range(2):
        arm = fork
        for _ in range(draw(integers(1, 2))):
            arm = _grow(names, pairs, arm)
        ends += (_grow(names, pairs, arm), _grow(names, pairs, arm))
    besides = (draw(one_of(names)), draw(one_of(names)))
    if len({*besides}) == 2 and besides not in pairs and besides[::-1] not in pairs:
        pairs.append(besides)
    links = [
        {"between": pair, "delay": draw(one_of(("0ms", "1ms", "5ms"))), "jitter": draw(one_of(JITTERS))}
        for pair in pairs
    ]
    return {"brokers": names, "links": links, "ends": ends}


def _grow(names: list[str], pairs: list[tuple[str, str]], broker: str) -> str:
    """Adds a neighbour of a broker."""
    names.append(f"B{len(names) + 1}")
    pairs.append((broker, names[-1]))
    return names[-1]


@st.composite
def split_cases(
    draw: st.DrawFn, *, steps: int = 14, settled: bool = False, withdrawn: bool = False, faults: tuple[str, ...] = ()
) -> Case:
    """A workload of at most `steps` steps, before and after a storm of faults of these kinds, if there are any.

    `settled` and `withdrawn` are those of `composite_cases`.
    """
    fields = draw(forks())
    ends = fields.pop("ends")
    clients = Publishers(draw, fields["brokers"], st.none() if settled else one_of(WAITS))
    clients.labels = {f"C{number}": broker for number, broker in enumerate((*ends, fields["brokers"][0]), 1)}
    clients.open()
    for _ in range(draw(integers(6, steps))):
        clients.act()
    if faults:
        Storm(draw, fields["brokers"], fields["links"], clients).rage(3, faults)
        for _ in range(draw(integers(6, steps))):
            clients.act()
    if withdrawn:
        clients.take_back_all()
    data = {"id": "generated", **fields, "steps": clients.steps, "expect": {}, "seed": draw(integers(0, 9))}
    return Case.model_validate(data)
