"""Workloads on full meshes: a publisher whose publications many brokers want, while brokers end and links are cut."""

from __future__ import annotations

from itertools import combinations
from typing import Any

from hypothesis import strategies as st

from studies.conformance.model import Case
from tests.properties.content import PRICES, publications, subscriptions
from tests.properties.drawing import integers, one_of

EVERYTHING = f"[class,eq,'A'],[price,>=,{PRICES[0]}],[price,<=,{PRICES[-1]}]"
MOST_BROKERS = 8
HURRIES = ("0ms", "1ms", "4ms", "15ms")
SETTLED = None
LEARNT = "1s"
"""Long enough for all brokers to know all round trips."""
RECOVERED = "7s"


class Crowd:
    """The steps of a case: a publisher C0, whose broker never fails, and clients who want some of its publications.

    Clients neither move nor withdraw anything.
    """

    def __init__(self, draw: st.DrawFn, most: int = 10) -> None:
        """`most` clients at most subscribe at the beginning."""
        self._draw = draw
        names = [f"B{number}" for number in range(1, draw(integers(2, MOST_BROKERS)) + 1)]
        self.pairs = list(combinations(names, 2))
        self.publisher, *self.others = draw(st.permutations(names))
        self.names = names
        self.steps: list[dict[str, Any]] = []
        self._published = self._subscribed = 0
        self._declare("advertise", "C0", self.publisher, EVERYTHING)
        self.subscribe(most)

    def subscribe(self, most: int) -> None:
        """Further clients subscribe, `most` of them at most, at any brokers."""
        for broker in self._draw(st.lists(one_of(self.names), min_size=1, max_size=most)):
            self._subscribed += 1
            text = self._draw(st.one_of(st.just(EVERYTHING), subscriptions))
            self._declare("subscribe", f"C{self._subscribed}", broker, text)
        self.steps[-1]["wait"] = LEARNT

    def publish(self, wait: str | None = SETTLED) -> None:
        self._published += 1
        text = self._draw(publications(EVERYTHING))
        self.step(wait, op="publish", client="C0", broker=self.publisher, id=f"p{self._published}", text=text)

    def step(self, wait: str | None = SETTLED, **fields: Any) -> None:
        self.steps.append(fields if wait is None else {**fields, "wait": wait})

    def case(self) -> Case:
        """The case; no two pairs of brokers are equally far apart."""
        delays = self._draw(st.permutations(range(1, len(self.pairs) + 1)))
        links = [{"between": pair, "delay": f"{delay}ms"} for pair, delay in zip(self.pairs, delays, strict=True)]
        data = {"id": "generated", "brokers": self.names, "links": links, "steps": self.steps, "expect": {}}
        return Case.model_validate(data)

    def _declare(self, op: str, client: str, broker: str, text: str) -> None:
        self.step(op=op, client=client, broker=broker, id="x", text=text)


@st.composite
def crowds(draw: st.DrawFn) -> Case:
    """Publications one after another, and nothing fails."""
    crowd = Crowd(draw)
    for _ in range(draw(integers(1, 4))):
        crowd.publish(draw(one_of((SETTLED, *HURRIES))))
    return crowd.case()


@st.composite
def crowds_with_dead_brokers(draw: st.DrawFn) -> Case:
    """Any set of brokers but the publisher's has ended, and their neighbours know it, when the publisher publishes."""
    crowd = Crowd(draw)
    for broker in draw(st.lists(one_of(crowd.others), unique=True)):
        crowd.step(op="kill", broker=broker)
    for _ in range(draw(integers(1, 4))):
        crowd.publish()
    return crowd.case()


@st.composite
def crowds_with_dying_brokers(draw: st.DrawFn) -> Case:
    """Brokers but the publisher's end at any moment, also while publications are in flight to and from them."""
    crowd = Crowd(draw)
    running = list(crowd.others)
    for _ in range(draw(integers(1, 6))):
        crowd.publish(draw(one_of(HURRIES)))
        if draw(integers(0, 1)) and running:
            crowd.step(draw(one_of(HURRIES)), op="kill", broker=running.pop(draw(integers(0, len(running) - 1))))
    crowd.publish(RECOVERED)
    return crowd.case()


@st.composite
def crowds_with_cut_links(draw: st.DrawFn) -> Case:
    """Links are cut and work again at any moment; all work in the end."""
    crowd = Crowd(draw)
    cut: list[tuple[str, str]] = []
    for _ in range(draw(integers(1, 8))):
        crowd.publish(draw(one_of(HURRIES)))
        if draw(integers(0, 1)) and cut:
            crowd.step(draw(one_of(HURRIES)), op="link_up", link=cut.pop(draw(integers(0, len(cut) - 1))))
        else:
            pair = draw(one_of([pair for pair in crowd.pairs if pair not in cut] or cut))
            if pair not in cut:
                cut.append(pair)
                crowd.step(draw(one_of((*HURRIES, "2s"))), op="link_down", link=pair)
    for pair in cut:
        crowd.step("0ms", op="link_up", link=pair)
    crowd.publish(RECOVERED)
    return crowd.case()


@st.composite
def crowds_that_grow_without_a_link(draw: st.DrawFn) -> Case:
    """Clients subscribe while the link is cut by which announcements would reach the publisher's broker, or another one
    if that is the root of the tree; the publisher publishes before the link works.

    Two brokers alone have no way round it, so that nothing is cut between them.
    """
    crowd = Crowd(draw, most=1)
    root, *others = crowd.names
    lonely = draw(one_of(others)) if crowd.publisher == root else crowd.publisher
    cut = [(root, lonely)] if len(others) > 1 else []
    for pair in cut:
        crowd.step(RECOVERED, op="link_down", link=pair)
    crowd.subscribe(most=4)
    crowd.publish("1s")
    for pair in cut:
        crowd.step(RECOVERED, op="link_up", link=pair)
    return crowd.case()


@st.composite
def crowds_with_restarts(draw: st.DrawFn) -> Case:
    """Brokers end, are started again, and have recovered when the publisher publishes."""
    crowd = Crowd(draw)
    ended = draw(st.lists(one_of(crowd.others), min_size=1, unique=True))
    for broker in ended:
        crowd.step(op="kill", broker=broker)
    for broker in draw(st.permutations(ended)):
        crowd.step(RECOVERED, op="restart", broker=broker)
    crowd.publish()
    return crowd.case()
