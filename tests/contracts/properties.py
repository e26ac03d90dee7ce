"""Properties of the contract routers over generated workloads, as words: `correct`, or what is wrong."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import combinations
from typing import cast
from unittest import mock

from hypothesis import given, settings
from hypothesis import strategies as st

from studies.conformance.model import Case, CaseLink, Declaration, Withdrawal
from studies.conformance.protocols import PROTOCOLS, ConformanceProtocol
from tests.properties import checks, drawing
from tests.properties.oracle import history, must_not
from tests.properties.strategies import cases

CORRECT, BROKEN = "correct", "broken"

EXAMPLES = 20
"""Cases that are searched, because each takes tens of milliseconds."""


def searched(check: checks.Property, row: ConformanceProtocol, strategy: st.SearchStrategy[Case]) -> Callable[[], str]:
    """A search for a case that breaks a check; always the same cases."""

    def search() -> str:
        @settings(drawing.search, max_examples=EXAMPLES)
        @given(case=strategy)
        def examples(case: Case) -> None:
            check(case, row.name)

        try:
            with _with_row(row):
                examples()
        except checks.BrokenError:
            return BROKEN
        return CORRECT

    return search


def on_full_meshes(*, settled: bool = False) -> st.SearchStrategy[Case]:
    """Workloads on overlays in which any two brokers are linked."""
    return cases(settled=settled).map(_meshed)


def no_broker_receives_in_vain(case: Case, protocol: str) -> None:
    """A publication reaches only brokers at which it may be meant for some client."""
    outcome, past = checks.ended(case, protocol), history(case)
    clients = defaultdict(set)
    for step in case.steps:
        if isinstance(step, Declaration | Withdrawal):
            clients[step.broker].add(step.client)
    for broker, arrivals in outcome.arrivals.items():
        for published in past.publications:
            meant = any(not must_not(past, client, published) for client in clients[broker])
            if arrivals.publications[published.id] and not meant:
                raise checks.BrokenError(f"{broker} received {published.id} in vain", outcome, protocol)


def _meshed(case: Case) -> Case:
    linked = {frozenset(link.between) for link in case.links}
    missing = [pair for pair in combinations(case.brokers, 2) if frozenset(pair) not in linked]
    return case.model_copy(update={"links": (*case.links, *(CaseLink(between=pair) for pair in missing))})


@contextmanager
def _with_row(row: ConformanceProtocol) -> Iterator[None]:
    with mock.patch.dict(cast(dict[str, ConformanceProtocol], PROTOCOLS), {row.name: row}):
        yield
