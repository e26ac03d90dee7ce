"""Properties of composite subscriptions, each a function of a case and a conformance row that raises `BrokenError`."""

from __future__ import annotations

import random

from broker_service.core.composites import COMPOSITE_SUBSCRIPTIONS, PARTIAL_MATCHES
from broker_service.language.formatting import format_composite
from broker_service.language.notation import parse_composite
from studies.conformance.model import Case, Step
from studies.conformance.protocols import PROTOCOLS
from tests.broker_service.language.strategies import rearranged
from tests.properties import oracle
from tests.properties.checks import BrokenError, ended, wrong_at_each_broker
from tests.properties.composites import composite_oracle

NAMES_CLIENTS_AT_ONCE = "tid"
"""Protocol whose first broker decides which clients get a publication. Brokers of all others match it when it arrives,
so that a client which moves ahead of it may be notified at both brokers (docs/guarantees.md)."""


def detected_exactly_once(case: Case, protocol: str) -> None:
    """Every set that must be notified is, once; no other set is; and plain subscriptions are as without composites."""
    outcome = ended(case, protocol)
    names_at_once = PROTOCOLS[protocol].protocol == NAMES_CLIENTS_AT_ONCE
    wrong = oracle.violations if names_at_once else wrong_at_each_broker
    found = composite_oracle.violations(case, outcome.detected, protocol)
    found += map(str, wrong(case, outcome.got, oracle.losing(protocol)))
    if found:
        raise BrokenError("; ".join(found), outcome, protocol)


def arrangement_does_not_matter(case: Case, protocol: str) -> None:
    """Patterns with other orders, groupings and repetitions detect the same. The case settles after each step."""
    outcome = ended(case, protocol)
    other = ended(_rearranged(case), protocol)
    for client in sorted(outcome.detected.keys() | other.detected.keys()):
        one, two = (sorted(map(sorted, run.detected.get(client, ()))) for run in (outcome, other))
        if one != two:
            raise BrokenError(f"{client} is notified of {one}, and of {two} with other arrangements", outcome, protocol)


def nothing_remains(case: Case, protocol: str) -> None:
    """No broker has a composite subscription, a partial match or a part when everything has been withdrawn."""
    outcome = ended(case, protocol)
    for name, broker in outcome.overlay.brokers.cores.items():
        for table, left in broker.tables().items():
            if table in (COMPOSITE_SUBSCRIPTIONS, PARTIAL_MATCHES, "publication_routing_table") and left:
                raise BrokenError(f"{name} still has in its {table}: {left}", outcome, protocol)


def _rearranged(case: Case) -> Case:
    """The case with other arrangements of its patterns; one that is stated again is arranged alike, because another
    text under the same name would replace it."""
    draws = random.Random(case.seed)
    texts: dict[str, str] = {}

    def rearrange(step: Step) -> Step:
        if step.op != "composite":
            return step
        if step.text not in texts:
            texts[step.text] = format_composite(rearranged(parse_composite(step.text), draws))
        return step.model_copy(update={"text": texts[step.text]})

    return case.model_copy(update={"steps": tuple(map(rearrange, case.steps))})
