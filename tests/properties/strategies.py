"""Workloads as conformance cases: an overlay with delays, and what clients do on it, in any interleaving.

Everything is drawn one by one, so that failures shrink to few brokers, few steps and no delays. `expect` stays empty:
what should come is for the oracle to say.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any

from hypothesis import strategies as st

from studies.conformance.model import Case
from tests.properties.content import advertisements, publications, subscriptions
from tests.properties.drawing import integers, one_of

MOST_BROKERS = 12
MOST_LINKS_MORE = 10
"""Links on top of those that connect everybody."""
MOST_CLIENTS = 6

DELAYS = ("0ms", "1ms", "2ms", "5ms", "20ms", "400ms")
JITTERS = ("0ms", "0ms", "1ms", "10ms")
WAITS = (None, None, "0ms", "1ms", "4ms", "15ms")
"""Times to wait after a step; with None, the overlay settles."""
RECOVERED = "7s"
"""Long enough for a restarted broker's neighbours to find it, and to withdraw what it does not renew."""


@functools.cache
def _further_links(count: int) -> st.SearchStrategy[list[tuple[int, int]]]:
    """Links between any of this number of brokers, some of them drawn again or between a broker and itself."""
    every = integers(0, count - 1)
    return st.lists(st.tuples(every, every), max_size=MOST_LINKS_MORE if count > 2 else 0)


@st.composite
def overlays(draw: st.DrawFn) -> tuple[list[str], list[dict[str, Any]]]:
    """Brokers, and links that connect them."""
    count = draw(integers(1, MOST_BROKERS))
    names = [f"B{number}" for number in range(1, count + 1)]
    pairs = [(draw(integers(0, node - 1)), node) for node in range(1, count)]
    for a, b in draw(_further_links(count)):
        if a != b and (a, b) not in pairs and (b, a) not in pairs:
            pairs.append((a, b))
    links = [
        {
            "between": (names[a], names[b]),
            "delay": draw(one_of(DELAYS)),
            "jitter": draw(one_of(JITTERS)),
        }
        for a, b in pairs
    ]
    return names, links


_overlays = overlays()
_never = st.none()


class Clients:
    """Declarations of a workload's clients so far, so that their next operations make sense."""

    texts: Mapping[str, st.SearchStrategy[str]] = {"advertise": advertisements, "subscribe": subscriptions}
    """Possible next operations."""

    def __init__(self, draw: st.DrawFn, brokers: list[str], waits: st.SearchStrategy[str | None]) -> None:
        self.steps: list[dict[str, Any]] = []
        self.dead: set[str] = set()
        self.labels: dict[str, str] = {}
        self.said: dict[tuple[str, str], dict[str, str]] = {}
        """Texts by id, by (client, kind)."""
        self._draw = draw
        self._brokers = brokers
        self._waits = waits
        self._numbers = 0
        for number in range(1, draw(integers(2, MOST_CLIENTS)) + 1):
            self.labels[f"C{number}"] = draw(one_of(brokers))

    def step(self, op: str, **fields: str | tuple[str, str]) -> None:
        wait = self._draw(self._waits)
        self.steps.append({"op": op, **fields, **({} if wait is None else {"wait": wait})})

    def act(self) -> None:
        """One step of a client whose broker lives."""
        living = [client for client, place in self.labels.items() if place not in self.dead]
        if not living:
            return
        client = self._draw(one_of(living))
        actions = (*4 * [self._publish], *2 * [self._declare], self._withdraw, self._move)
        actions[self._draw(one_of(range(len(actions))))](client)

    def open(self) -> None:
        """Every second client begins with an advertisement, every other one with a subscription."""
        for number, client in enumerate(self.labels):
            self._declare(client, ("advertise", "subscribe")[number % 2])

    def _declare(self, client: str, op: str = "") -> None:
        op = op or self._draw(one_of(("advertise", "subscribe")))
        said = self.said.setdefault((client, op), {})
        id = self._draw(one_of("xy"))
        text = said[id] = self._draw(self.texts[op])
        self.step(op, client=client, broker=self.labels[client], id=id, text=text)

    def _publish(self, client: str) -> None:
        """Mostly what the client may publish."""
        publishers = [client for client in self.labels if self.said.get((client, "advertise"))]
        publishers = [client for client in publishers if self.labels[client] not in self.dead]
        if publishers:
            client = self._draw(one_of(publishers))
        said = self.said.get((client, "advertise"))
        advertised = self._draw(one_of([*said.values(), None])) if said else None
        self._numbers += 1
        text = self._draw(publications(advertised))
        self.step("publish", client=client, broker=self.labels[client], id=f"p{self._numbers}", text=text)

    def _withdraw(self, client: str) -> None:
        kinds = [op for op in ("advertise", "subscribe") if self.said.get((client, op))]
        if kinds:
            op = self._draw(one_of(kinds))
            self.take_back(client, op, self._draw(one_of(sorted(self.said[client, op]))))

    def take_back(self, client: str, op: str, id: str) -> None:
        del self.said[client, op][id]
        self.step(f"un{op}", client=client, broker=self.labels[client], id=id)

    def _move(self, client: str) -> None:
        """A client moves with what it says first at the new broker."""
        others = [broker for broker in self._brokers if broker not in self.dead and broker != self.labels[client]]
        if not others:
            return
        self.labels[client] = self._draw(one_of(others))
        self.said[client, "advertise"] = {}
        self.said[client, "subscribe"] = {}
        self._declare(client)

    def take_back_all(self, kinds: tuple[str, ...] = ("advertise", "subscribe")) -> None:
        """Withdraws everything, in any order. The brokers of all clients run."""
        left = [(client, op, id) for (client, op), said in self.said.items() if op in kinds for id in said]
        for client, op, id in self._draw(st.permutations(sorted(left))):
            self.take_back(client, op, id)


@st.composite
def cases(draw: st.DrawFn, *, steps: int = 24, withdrawn: bool = False, settled: bool = False) -> Case:
    """A workload of at most `steps` steps.

    `withdrawn`: all clients withdraw everything at the end, or all subscriptions. `settled`: the overlay settles after
    each step.
    """
    brokers, links = draw(_overlays)
    clients = Clients(draw, brokers, _never if settled else one_of(WAITS))
    clients.open()
    for _ in range(draw(integers(min(4, steps), steps))):
        clients.act()
    if withdrawn:
        clients.take_back_all(draw(one_of((("advertise", "subscribe"), ("subscribe",)))))
    return _case(draw, brokers, links, clients)


class Storm:
    """Brokers die and links are cut, in any order and any number; clients go on where brokers live."""

    def __init__(self, draw: st.DrawFn, brokers: list[str], links: list[dict[str, Any]], clients: Clients) -> None:
        self._draw = draw
        self._brokers = brokers
        self._pairs: list[tuple[str, str]] = [tuple(link["between"]) for link in links]
        self._cut: set[tuple[str, str]] = set()
        self._clients = clients

    def rage(self, most: int, kinds: tuple[str, ...]) -> None:
        """At most this many faults, then all are healed; the last step waits until the overlay has recovered."""
        for _ in range(self._draw(integers(1, most))):
            self._strike(self._draw(one_of(kinds)))
            self._act(4)
        while broken := sorted(self._clients.dead) + sorted(self._cut):
            self._mend(self._draw(one_of(broken)))
            if self._clients.dead or self._cut:
                self._act(1)
        if self._clients.steps[-1]["op"] in ("restart", "link_up"):
            self._clients.steps[-1]["wait"] = RECOVERED

    def _act(self, most: int) -> None:
        for _ in range(self._draw(integers(0, most))):
            self._clients.act()

    def _strike(self, kind: str) -> None:
        match kind:
            case "kill":
                self._kill(self._draw(one_of(self._brokers)))
            case "kill neighbours" if self._pairs:
                for broker in self._draw(one_of(self._pairs)):
                    self._kill(broker)
            case "cut" if self._pairs:
                self._sever([self._draw(one_of(self._pairs))])
            case "isolate":
                group = set(self._draw(st.lists(one_of(self._brokers), min_size=1, unique=True)))
                self._sever([pair for pair in self._pairs if len(group.intersection(pair)) == 1])
            case "mend" if broken := sorted(self._clients.dead) + sorted(self._cut):
                if len(broken) > 1:
                    self._mend(self._draw(one_of(broken)))

    def _kill(self, broker: str) -> None:
        if broker not in self._clients.dead:
            self._clients.step("kill", broker=broker)
            self._clients.dead.add(broker)

    def _sever(self, pairs: list[tuple[str, str]]) -> None:
        for pair in pairs:
            if pair not in self._cut:
                self._clients.step("link_down", link=pair)
                self._cut.add(pair)

    def _mend(self, what: str | tuple[str, str]) -> None:
        if isinstance(what, str):
            self._clients.step("restart", broker=what)
            self._clients.dead.remove(what)
        else:
            self._clients.step("link_up", link=what)
            self._cut.remove(what)


DEATHS = ("kill",)
CUTS = ("cut", "cut", "isolate", "mend")
ALL_FAULTS = ("kill", "kill", "kill neighbours", "cut", "cut", "isolate", "mend", "mend")


@st.composite
def cases_with_faults(draw: st.DrawFn, kinds: tuple[str, ...], *, most: int = 2, steps: int = 12) -> Case:
    """A workload with two storms of at most `most` faults of these kinds. All clients withdraw all at the end."""
    brokers, links = draw(_overlays)
    clients = Clients(draw, brokers, one_of(WAITS))
    clients.open()
    for _ in range(2):
        for _ in range(draw(integers(1, steps))):
            clients.act()
        Storm(draw, brokers, links, clients).rage(most, kinds)
        for _ in range(draw(integers(1, steps))):
            clients.act()
    clients.take_back_all()
    return _case(draw, brokers, links, clients)


def _case(draw: st.DrawFn, brokers: list[str], links: list[dict[str, Any]], clients: Clients) -> Case:
    data = {"id": "generated", "brokers": brokers, "links": links, "steps": clients.steps, "expect": {}}
    return Case.model_validate({**data, "seed": draw(integers(0, 9))})
