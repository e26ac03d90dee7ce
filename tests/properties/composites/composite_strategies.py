"""Workloads whose clients make composite subscriptions besides plain ones, on overlays of any kind."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations, product
from string import ascii_uppercase

from hypothesis import strategies as st

from broker_service.language import ContentError
from broker_service.language.composite_subscription import CompositeSubscription
from broker_service.language.notation import parse_composite
from studies.conformance.model import Case
from studies.conformance.protocols import PROTOCOLS
from tests.properties.content import advertisements, subscriptions
from tests.properties.drawing import integers, one_of
from tests.properties.octopia.octopia_strategies import scots
from tests.properties.strategies import ALL_FAULTS, CUTS, DELAYS, JITTERS, WAITS, Clients, Storm, overlays

MOST_PARTS = 4
VARIABLES = ("", "", ",[price,=,$I$X]", ",[class,eq,$S$X]", ",[class,eq,$S$X],[price,=,$I$X]", ",[price,>,$I$X]")

MOST_NODES, MOST_MEMBERS = 4, 2

OverlayFields = Mapping[str, object]
"""The fields of a case that make its overlay."""

__all__ = ["ALL_FAULTS", "CUTS", "composite_cases", "composite_cases_with_faults"]


@st.composite
def redundant_trees(draw: st.DrawFn) -> OverlayFields:
    """Trees of nodes, with all links between the brokers of a node, and between those of neighbouring nodes."""
    names = ascii_uppercase[: draw(integers(1, MOST_NODES))]
    members = {name: [f"{name}{number}" for number in range(draw(integers(1, MOST_MEMBERS)))] for name in names}
    edges = [(names[draw(integers(0, place - 1))], names[place]) for place in range(1, len(names))]
    pairs = [pair for brokers in members.values() for pair in combinations(brokers, 2)]
    pairs += [pair for a, b in edges for pair in product(members[a], members[b])]
    links = [{"between": pair, "delay": draw(one_of(DELAYS)), "jitter": draw(one_of(JITTERS))} for pair in pairs]
    attributes = {broker: {"node": name} for name, brokers in members.items() for broker in brokers}
    return {"brokers": list(attributes), "links": links, "attributes": attributes}


ANY: st.SearchStrategy[OverlayFields] = overlays().map(lambda drawn: {"brokers": drawn[0], "links": drawn[1]})
_BY_ATTRIBUTES: Mapping[tuple[str, ...], st.SearchStrategy[OverlayFields]] = {
    (): ANY,
    ("region", "cluster"): scots().map(lambda scot: scot.fields),
    ("node",): redundant_trees(),
}


def overlays_for(protocol: str) -> st.SearchStrategy[OverlayFields]:
    """Overlays on which a row of the conformance table runs."""
    return _BY_ATTRIBUTES[PROTOCOLS[protocol].attributes_needed]


def _sound(text: str) -> bool:
    """False for a pattern with a variable that may be unbound."""
    try:
        CompositeSubscription(parse_composite(text))
    except ContentError:
        return False
    return True


_parts = st.tuples(subscriptions, one_of(VARIABLES)).map(lambda drawn: f"{{{drawn[0]}{drawn[1]}}}")


def pattern_of(parts: st.SearchStrategy[str], most_parts: int) -> st.SearchStrategy[str]:
    """Texts of patterns of these parts, nested."""
    return st.recursive(
        parts,
        lambda operands: st.tuples(one_of("&&|"), st.lists(operands, min_size=2, max_size=3)).map(
            lambda drawn: "(" + {"&": "&", "|": "||"}[drawn[0]].join(drawn[1]) + ")"
        ),
        max_leaves=most_parts,
    ).filter(_sound)


patterns = pattern_of(_parts, MOST_PARTS)
"""Texts of patterns of up to `MOST_PARTS` parts, nested, some with variables in common."""


class Composers(Clients):
    """Clients of whose subscriptions most are composite."""

    texts: Mapping[str, st.SearchStrategy[str]] = {
        "advertise": advertisements,
        "subscribe": patterns | patterns | subscriptions,
    }

    def step(self, op: str, **fields: str | tuple[str, str]) -> None:
        """A subscription in braces or parentheses is composite."""
        composite = op == "subscribe" and str(fields["text"])[0] in "{("
        super().step("composite" if composite else op, **fields)


@st.composite
def composite_cases(
    draw: st.DrawFn,
    overlays: st.SearchStrategy[OverlayFields] = ANY,
    *,
    steps: int = 14,
    settled: bool = False,
    withdrawn: bool = False,
) -> Case:
    """A workload of at most `steps` steps.

    `settled`: the overlay settles after each step. `withdrawn`: all clients withdraw everything at the end.
    """
    fields = draw(overlays)
    clients = Composers(draw, fields["brokers"], st.none() if settled else one_of(WAITS))
    _act(draw, clients, steps)
    if withdrawn:
        clients.take_back_all()
    return _case(draw, fields, clients)


@st.composite
def composite_cases_with_faults(
    draw: st.DrawFn, kinds: tuple[str, ...], overlays: st.SearchStrategy[OverlayFields] = ANY, *, steps: int = 8
) -> Case:
    """A workload with a storm of up to three faults of these kinds in the middle."""
    fields = draw(overlays)
    clients = Composers(draw, fields["brokers"], one_of(WAITS))
    _act(draw, clients, steps)
    Storm(draw, fields["brokers"], fields["links"], clients).rage(3, kinds)
    _act(draw, clients, steps)
    return _case(draw, fields, clients)


def _act(draw: st.DrawFn, clients: Composers, steps: int) -> None:
    if not clients.steps:
        clients.open()
    for _ in range(draw(integers(4, steps))):
        clients.act()


def _case(draw: st.DrawFn, fields: Mapping[str, object], clients: Clients) -> Case:
    data = {"id": "generated", **fields, "steps": clients.steps, "expect": {}, "seed": draw(integers(0, 9))}
    return Case.model_validate(data)
