"""Workloads on SCOTs: any tree times any complete graph, with delays, and clients that do anything in any order."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from string import ascii_lowercase
from typing import Any

from hypothesis import strategies as st

from studies.conformance.model import Case
from tests.properties.content import PRICES, publications, subscriptions
from tests.properties.drawing import integers, one_of
from tests.properties.strategies import DELAYS, JITTERS, WAITS, Clients, Storm

OF_ONE_CLASS = f"[class,eq,'A'],[price,>=,{PRICES[0]}],[price,<=,{PRICES[-1]}]"
EVERYTHING = f"[price,>=,{PRICES[0]}],[price,<=,{PRICES[-1]}]"
HURRIES = ("0ms", "0ms", "1ms", "4ms", "15ms", None)
"""Waits as `WAITS`, of which few let the overlay settle."""
MOST_REGIONS, MOST_CLUSTERS, MOST_BROKERS = 5, 4, 12


@dataclass(frozen=True)
class Product:
    """A SCOT as the fields of a case."""

    brokers: list[str]
    links: list[dict[str, Any]]
    regions: dict[str, list[str]]
    """Brokers of each region, in the order of clusters."""

    @property
    def fields(self) -> dict[str, Any]:
        attributes = {
            broker: {"region": region, "cluster": cluster}
            for region, brokers in self.regions.items()
            for cluster, broker in enumerate(brokers)
        }
        return {"brokers": self.brokers, "links": self.links, "attributes": attributes}


@st.composite
def scots(
    draw: st.DrawFn, *, clusters: tuple[int, int] = (1, MOST_CLUSTERS), most_regions: int = MOST_REGIONS
) -> Product:
    """SCOTs, also with a single region or a single cluster."""
    count = draw(integers(*clusters))
    labels = ascii_lowercase[: draw(integers(1, min(most_regions, MOST_BROKERS // count)))]
    tree = [(labels[draw(integers(0, place - 1))], labels[place]) for place in range(1, len(labels))]
    regions = {label: [f"{label}{cluster}" for cluster in range(count)] for label in labels}
    pairs = [pair for a, b in tree for pair in zip(regions[a], regions[b], strict=True)]
    pairs += [pair for brokers in regions.values() for pair in combinations(brokers, 2)]
    links = [{"between": pair, "delay": draw(one_of(DELAYS)), "jitter": draw(one_of(JITTERS))} for pair in pairs]
    return Product([broker for brokers in regions.values() for broker in brokers], links, regions)


class _Churning(Clients):
    """Clients that say things and take them back, and never publish."""

    def act(self) -> None:
        client = self._draw(one_of(sorted(self.labels)))
        actions = (*3 * [self._declare], *2 * [self._withdraw], self._move)
        actions[self._draw(one_of(range(len(actions))))](client)


class _Racing(Clients):
    """Clients that say one and the same thing and take it back, so that messages which cross each other matter."""

    texts: Mapping[str, st.SearchStrategy[str]] = dict.fromkeys(("advertise", "subscribe"), st.just(OF_ONE_CLASS))

    def act(self) -> None:
        client, op = self._draw(one_of(sorted(self.labels))), self._draw(one_of(list(self.texts)))
        if said := self.said.get((client, op)):
            self.take_back(client, op, min(said))
        else:
            self._declare(client, op)


class _Crowd(Clients):
    """Clients among whom some at several brokers want everything, and who mostly publish."""

    def open(self) -> None:
        super().open()
        for number, broker in enumerate(self._draw(st.lists(one_of(self._brokers), min_size=3, max_size=8))):
            client = f"S{number}"
            self.labels[client] = broker
            self.said[client, "subscribe"] = {"x": EVERYTHING}
            self.step("subscribe", client=client, broker=broker, id="x", text=EVERYTHING)

    def act(self) -> None:
        if self._draw(integers(0, 3)):
            self._publish("C1")
        else:
            super().act()


@st.composite
def scot_cases(draw: st.DrawFn, *, steps: int = 24, settled: bool = False, withdrawn: bool = False) -> Case:
    """A workload of at most `steps` steps. `settled`: the overlay settles after each. `withdrawn`: all clients withdraw
    everything at the end."""
    scot = draw(scots())
    clients = Clients(draw, scot.brokers, st.none() if settled else one_of(WAITS))
    return _worked(draw, scot, clients, steps, withdrawn)


@st.composite
def churning_cases(draw: st.DrawFn, *, steps: int = 24) -> Case:
    """A workload without publications."""
    scot = draw(scots())
    return _worked(draw, scot, _Churning(draw, scot.brokers, one_of(WAITS)), steps, withdrawn=False)


@st.composite
def racing_cases(draw: st.DrawFn) -> Case:
    """A workload without publications, on few brokers: clients declare one and the same content and take it back,
    seldom waiting for quiet."""
    scot = draw(scots(clusters=(2, 3), most_regions=2))
    return _worked(draw, scot, _Racing(draw, scot.brokers, one_of(HURRIES)), 16, withdrawn=False)


@st.composite
def crowded_cases(draw: st.DrawFn) -> Case:
    """A workload of publications that many brokers of several clusters want: there are several ways to forward them."""
    scot = draw(scots(clusters=(2, MOST_CLUSTERS)))
    return _worked(draw, scot, _Crowd(draw, scot.brokers, one_of(WAITS)), 12, withdrawn=False)


@st.composite
def scot_cases_with_faults(draw: st.DrawFn, kinds: tuple[str, ...], *, most: int = 3, steps: int = 8) -> Case:
    """A workload with two storms of at most `most` faults of these kinds."""
    scot = draw(scots())
    clients = Clients(draw, scot.brokers, one_of(WAITS))
    clients.open()
    for _ in range(2):
        for _ in range(draw(integers(1, steps))):
            clients.act()
        Storm(draw, scot.brokers, scot.links, clients).rage(most, kinds)
    return _worked(draw, scot, clients, steps, withdrawn=False)


@st.composite
def cases_with_a_dead_broker(draw: st.DrawFn) -> Case:
    """Clients have said what they want when a broker dies that is not the publisher's, in an overlay that stays whole
    without it. It stays dead while the publisher publishes."""
    scot = draw(scots(clusters=(2, MOST_CLUSTERS)))
    clients, publisher, other = _prepared(draw, scot)
    clients.step("kill", broker=other)
    _publish_some(draw, clients, publisher)
    return _case(draw, scot, clients)


@st.composite
def cases_with_a_broker_cut_off(draw: st.DrawFn) -> Case:
    """Clients have said what they want when the links of a broker are cut, and the publisher publishes; then the links
    are restored."""
    scot = draw(scots(clusters=(2, MOST_CLUSTERS)))
    clients, publisher, other = _prepared(draw, scot)
    pairs = [link["between"] for link in scot.links if other in link["between"]]
    for pair in pairs:
        clients.step("link_down", link=pair)
    _publish_some(draw, clients, publisher)
    for pair in draw(st.permutations(pairs)):
        clients.step("link_up", link=pair)
    return _case(draw, scot, clients)


def _prepared(draw: st.DrawFn, scot: Product) -> tuple[Clients, str, str]:
    """A publisher and some subscribers, the publisher's broker and another one."""
    publisher, other = draw(st.permutations(scot.brokers))[:2]
    clients = Clients(draw, scot.brokers, st.none())
    homes = draw(st.lists(one_of(scot.brokers), min_size=1, max_size=8))
    for number, broker in enumerate((publisher, *homes)):
        text = draw(subscriptions) if number else OF_ONE_CLASS
        clients.step("subscribe" if number else "advertise", client=f"C{number}", broker=broker, id="x", text=text)
    return clients, publisher, other


def _publish_some(draw: st.DrawFn, clients: Clients, publisher: str) -> None:
    for number in range(draw(integers(1, 4))):
        text = draw(publications(OF_ONE_CLASS))
        clients.step("publish", client="C0", broker=publisher, id=f"p{number}", text=text)


def _worked(draw: st.DrawFn, scot: Product, clients: Clients, steps: int, withdrawn: bool) -> Case:
    if not clients.steps:
        clients.open()
    for _ in range(draw(integers(min(4, steps), steps))):
        clients.act()
    if withdrawn:
        clients.take_back_all()
    return _case(draw, scot, clients)


def _case(draw: st.DrawFn, scot: Product, clients: Clients) -> Case:
    data = {"id": "generated", **scot.fields, "expect": {}}
    return Case.model_validate({**data, "steps": clients.steps, "seed": draw(integers(0, 9))})
