"""OctopiA on overlays of broker cores: the paper's own SCOTs, by the names the paper gives their brokers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import combinations
from typing import Any

from hypothesis import strategies as st

from broker_service.messages import Kind, Message
from record.log import Event
from tests.broker_service.overlay import CoreOverlay
from tests.broker_service.routing.stocks import above

FIGURE_3_TREE = ("ab", "bc", "cd", "de", "ef")
"""G_af of Figs. 2 to 8. The text says that a is an edge broker, e an inner one and d - e a link."""
FIGURE_7_TREE = ("ab", "bc")


def scot(
    tree: Iterable[str],
    clusters: int,
    options: Mapping[str, Any] | None = None,
    seed: int = 0,
) -> CoreOverlay:
    """The product of a tree, given by its links, and a complete graph. B(a, 0) is called `a0`."""
    tree = tuple(tree)
    regions = sorted({region for link in tree for region in link}) or ["a"]
    links = [(f"{link[0]}{cluster}", f"{link[1]}{cluster}") for link in tree for cluster in range(clusters)]
    links += [(f"{region}{i}", f"{region}{j}") for region in regions for i, j in combinations(range(clusters), 2)]
    attributes = {
        f"{region}{cluster}": {"region": region, "cluster": cluster}
        for region in regions
        for cluster in range(clusters)
    }
    return CoreOverlay(links, attributes, options, seed, protocol="octopia", attributes=attributes)


@st.composite
def trees(draw: st.DrawFn) -> list[str]:
    """The links of a tree of one to six regions."""
    regions = "abcdef"[: draw(st.integers(1, 6))]
    return [regions[draw(st.integers(0, index - 1))] + regions[index] for index in range(1, len(regions))]


def congest(overlay: CoreOverlay, sender: str, receiver: str, messages: int = 20) -> None:
    """Fills an output queue with messages that mean nothing to the receiver, and holds the link up."""
    link = overlay.brokers[sender].links[receiver]
    for number in range(messages):
        link.put(Message(Kind.UNADVERTISE, f"{sender}.1.{1_000_000 + number}"))
    overlay.held.add((sender, receiver))


def with_clients(overlay: CoreOverlay, publisher: str, subscribers: Mapping[str, str]) -> CoreOverlay:
    """Adds P at a broker, which advertises all stock above 0, and subscribers to the same at theirs."""
    overlay.attach("P", publisher)
    overlay.advertise("P", "a", above(0))
    for client, home in subscribers.items():
        overlay.attach(client, home)
        overlay.subscribe(client, "s", above(0))
    overlay.settle()
    return overlay


def advertised(overlay: CoreOverlay) -> dict[str, dict[str, str]]:
    """The vector that each broker keeps with each advertisement: advertisement to broker to vector."""
    known: dict[str, dict[str, str]] = {}
    for name, broker in overlay.brokers.items():
        table: Any = broker.tables()["cluster_link_table"]
        for id, row in table.items():
            known.setdefault(id, {})[name] = row["civ"]
    return known


def subscribed(overlay: CoreOverlay) -> dict[str, set[str]]:
    """The brokers that know each subscription."""
    known: dict[str, set[str]] = {}
    for name, broker in overlay.brokers.items():
        table: Any = broker.tables()["publication_routing_table"]
        for id in table:
            known.setdefault(id, set()).add(name)
    return known


def sent(overlay: CoreOverlay, kind: str) -> list[tuple[str, str]]:
    """(from, to) for each message of a kind that arrived over a link."""
    return [
        (record.peer or "", record.node)
        for record in overlay.records(Event.RECEIVED)
        if record.kind == kind and record.peer is not None
    ]
