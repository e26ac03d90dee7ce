"""Workloads as conformance cases: an overlay with delays, and what clients do on it, in any interleaving.

Everything is drawn one by one, so that failures shrink to few brokers, few steps and no delays. `expect` stays empty:
what should come is for the oracle to say.
"""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from emulation.conformance.model import Case
from tests.properties.content import advertisements, publications, subscriptions

MOST_BROKERS = 12
MOST_LINKS_MORE = 10
"""Links on top of those that connect everybody."""
MOST_CLIENTS = 6

DELAYS = ("0ms", "1ms", "2ms", "5ms", "20ms")
JITTERS = ("0ms", "0ms", "1ms", "10ms")
WAITS = (None, None, "0ms", "1ms", "4ms", "15ms")
"""None lets the overlay settle."""
RECOVERED = "7s"
"""Long enough for a restarted broker's neighbours to find it, and to withdraw what it does not renew."""


@st.composite
def overlays(draw: st.DrawFn) -> tuple[list[str], list[dict[str, Any]]]:
    """Brokers, and links that connect them."""
    count = draw(st.integers(1, MOST_BROKERS))
    names = [f"B{number}" for number in range(1, count + 1)]
    pairs = [(draw(st.integers(0, node - 1)), node) for node in range(1, count)]
    every = st.integers(0, count - 1)
    for a, b in draw(st.lists(st.tuples(every, every), max_size=MOST_LINKS_MORE if count > 2 else 0)):
        if a != b and (a, b) not in pairs and (b, a) not in pairs:
            pairs.append((a, b))
    links = [
        {
            "between": (names[a], names[b]),
            "delay": draw(st.sampled_from(DELAYS)),
            "jitter": draw(st.sampled_from(JITTERS)),
        }
        for a, b in pairs
    ]
    return names, links


class _Clients:
    """What the clients of a workload have said, so that what they say next makes sense."""

    def __init__(self, draw: st.DrawFn, brokers: list[str], waits: st.SearchStrategy[str | None]) -> None:
        self.steps: list[dict[str, Any]] = []
        self.dead: set[str] = set()
        self.places: dict[str, str] = {}
        self.said: dict[tuple[str, str], dict[str, str]] = {}
        """Texts by id, by (client, kind)."""
        self._draw = draw
        self._brokers = brokers
        self._waits = waits
        self._numbers = 0
        for number in range(1, draw(st.integers(2, MOST_CLIENTS)) + 1):
            self.places[f"C{number}"] = draw(st.sampled_from(brokers))

    def step(self, op: str, **fields: str | tuple[str, str]) -> None:
        wait = self._draw(self._waits)
        self.steps.append({"op": op, **fields, **({} if wait is None else {"wait": wait})})

    def act(self) -> None:
        """One step of a client whose broker lives."""
        living = [client for client, place in self.places.items() if place not in self.dead]
        if not living:
            return
        client = self._draw(st.sampled_from(living))
        actions = (*4 * [self._publish], *2 * [self._declare], self._withdraw, self._move)
        self._draw(st.sampled_from(actions))(client)

    def open(self) -> None:
        """Every second client begins with an advertisement, every other one with a subscription."""
        for number, client in enumerate(self.places):
            self._declare(client, ("advertise", "subscribe")[number % 2])

    def _declare(self, client: str, op: str = "") -> None:
        op = op or self._draw(st.sampled_from(("advertise", "subscribe")))
        said = self.said.setdefault((client, op), {})
        id = self._draw(st.sampled_from("xy"))
        text = said[id] = self._draw(advertisements if op == "advertise" else subscriptions)
        self.step(op, client=client, broker=self.places[client], id=id, text=text)

    def _publish(self, client: str) -> None:
        """Mostly what the client may publish."""
        publishers = [each for each in self.places if self.said.get((each, "advertise"))]
        publishers = [each for each in publishers if self.places[each] not in self.dead]
        if publishers:
            client = self._draw(st.sampled_from(publishers))
        said = self.said.get((client, "advertise"))
        advertised = self._draw(st.sampled_from([*said.values(), None])) if said else None
        self._numbers += 1
        text = self._draw(publications(advertised))
        self.step("publish", client=client, broker=self.places[client], id=f"p{self._numbers}", text=text)

    def _withdraw(self, client: str) -> None:
        kinds = [op for op in ("advertise", "subscribe") if self.said.get((client, op))]
        if kinds:
            op = self._draw(st.sampled_from(kinds))
            self.take_back(client, op, self._draw(st.sampled_from(sorted(self.said[client, op]))))

    def take_back(self, client: str, op: str, id: str) -> None:
        del self.said[client, op][id]
        self.step(f"un{op}", client=client, broker=self.places[client], id=id)

    def _move(self, client: str) -> None:
        """A client moves with what it says first at the new broker."""
        others = [each for each in self._brokers if each not in self.dead and each != self.places[client]]
        if not others:
            return
        self.places[client] = self._draw(st.sampled_from(others))
        self.said[client, "advertise"] = {}
        self.said[client, "subscribe"] = {}
        self._declare(client)

    def take_back_all(self, kinds: tuple[str, ...] = ("advertise", "subscribe")) -> None:
        """In any order; everybody's broker lives."""
        left = [(client, op, id) for (client, op), said in self.said.items() if op in kinds for id in said]
        for client, op, id in self._draw(st.permutations(sorted(left))):
            self.take_back(client, op, id)


@st.composite
def cases(draw: st.DrawFn, *, steps: int = 24, withdrawn: bool = False, settled: bool = False) -> Case:
    """A workload of up to so many steps.

    `withdrawn`: everybody takes back everything at the end, or all subscriptions. `settled`: the overlay settles after
    each step.
    """
    brokers, links = draw(overlays())
    clients = _Clients(draw, brokers, st.none() if settled else st.sampled_from(WAITS))
    clients.open()
    for _ in range(draw(st.integers(min(4, steps), steps))):
        clients.act()
    if withdrawn:
        clients.take_back_all(draw(st.sampled_from((("advertise", "subscribe"), ("subscribe",)))))
    return _case(draw, brokers, links, clients)


def _crash(draw: st.DrawFn, brokers: list[str], clients: _Clients) -> None:
    """Brokers die one after another and come back in any order; clients go on where brokers live."""
    victims = draw(st.lists(st.sampled_from(brokers), min_size=1, max_size=2, unique=True))
    for victim in victims:
        clients.step("kill", broker=victim)
        clients.dead.add(victim)
        for _ in range(draw(st.integers(0, 4))):
            clients.act()
    for victim in draw(st.permutations(victims)):
        clients.step("restart", broker=victim)
        clients.dead.remove(victim)
    clients.steps[-1]["wait"] = RECOVERED


@st.composite
def cases_with_crashes(draw: st.DrawFn, *, steps: int = 12) -> Case:
    """A workload in which one broker, or two, die and come back, twice; at the end everybody takes back everything."""
    brokers, links = draw(overlays())
    clients = _Clients(draw, brokers, st.sampled_from(WAITS))
    clients.open()
    for _ in range(2):
        for _ in range(draw(st.integers(1, steps))):
            clients.act()
        _crash(draw, brokers, clients)
        for _ in range(draw(st.integers(1, steps))):
            clients.act()
    clients.take_back_all()
    return _case(draw, brokers, links, clients)


def _case(draw: st.DrawFn, brokers: list[str], links: list[dict[str, Any]], clients: _Clients) -> Case:
    data = {"id": "generated", "brokers": brokers, "links": links, "steps": clients.steps, "expect": {}}
    return Case.model_validate({**data, "seed": draw(st.integers(0, 9))})
