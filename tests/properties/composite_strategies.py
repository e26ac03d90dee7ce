"""Workloads whose clients make composite subscriptions besides plain ones, on any overlay and on SCOTs."""

from __future__ import annotations

from collections.abc import Mapping

from hypothesis import strategies as st

from broker_service.language import ContentError
from broker_service.language.composite_subscription import CompositeSubscription
from broker_service.language.notation import parse_composite
from studies.conformance.model import Case
from tests.properties.content import advertisements, subscriptions
from tests.properties.drawing import integers, one_of
from tests.properties.octopia_strategies import scots
from tests.properties.strategies import ALL_FAULTS, CUTS, WAITS, Clients, Storm, overlays

MOST_PARTS = 4
VARIABLES = ("", "", ",[price,=,$I$X]", ",[class,eq,$S$X]", ",[class,eq,$S$X],[price,=,$I$X]", ",[price,>,$I$X]")

__all__ = ["ALL_FAULTS", "CUTS", "composite_cases", "composite_cases_with_faults"]


def _sound(text: str) -> bool:
    """False for a pattern with a variable that may be unbound."""
    try:
        CompositeSubscription(parse_composite(text))
    except ContentError:
        return False
    return True


_parts = st.tuples(subscriptions, one_of(VARIABLES)).map(lambda drawn: f"{{{drawn[0]}{drawn[1]}}}")
patterns = st.recursive(
    _parts,
    lambda operands: st.tuples(one_of("&&|"), st.lists(operands, min_size=2, max_size=3)).map(
        lambda drawn: "(" + {"&": "&", "|": "||"}[drawn[0]].join(drawn[1]) + ")"
    ),
    max_leaves=MOST_PARTS,
).filter(_sound)
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
    draw: st.DrawFn, *, scot: bool, steps: int = 14, settled: bool = False, withdrawn: bool = False
) -> Case:
    """A workload of at most `steps` steps, on a SCOT or on any overlay.

    `settled`: the overlay settles after each step. `withdrawn`: all clients withdraw everything at the end.
    """
    fields = _overlay(draw, scot)
    clients = Composers(draw, fields["brokers"], st.none() if settled else one_of(WAITS))
    _act(draw, clients, steps)
    if withdrawn:
        clients.take_back_all()
    return _case(draw, fields, clients)


@st.composite
def composite_cases_with_faults(draw: st.DrawFn, kinds: tuple[str, ...], *, scot: bool, steps: int = 8) -> Case:
    """A workload with a storm of up to three faults of these kinds in the middle."""
    fields = _overlay(draw, scot)
    clients = Composers(draw, fields["brokers"], one_of(WAITS))
    _act(draw, clients, steps)
    Storm(draw, fields["brokers"], fields["links"], clients).rage(3, kinds)
    _act(draw, clients, steps)
    return _case(draw, fields, clients)


def _overlay(draw: st.DrawFn, scot: bool) -> dict[str, object]:
    """The fields of a case that make its overlay."""
    if scot:
        return draw(scots()).fields
    brokers, links = draw(overlays())
    return {"brokers": brokers, "links": links}


def _act(draw: st.DrawFn, clients: Composers, steps: int) -> None:
    if not clients.steps:
        clients.open()
    for _ in range(draw(integers(4, steps))):
        clients.act()


def _case(draw: st.DrawFn, fields: Mapping[str, object], clients: Clients) -> Case:
    data = {"id": "generated", **fields, "steps": clients.steps, "expect": {}, "seed": draw(integers(0, 9))}
    return Case.model_validate(data)
