"""Clients that are programs of one's own: what a scenario may ask of them."""

from __future__ import annotations

from collections.abc import Container, Iterator

from scenario.model import AUTO, Scenario
from scenario.sections.clients import names_in
from scenario.sections.messages import Problem


def program_problems(scenario: Scenario, at_sites: Container[str]) -> Iterator[Problem]:
    """Contradictions between the programs of a scenario and the rest of it. `at_sites` are the clients that sites
    list."""
    section = scenario.clients
    if section is None or not section.programs:
        return
    written = {item.client for item in scenario.workload.operations}
    seen: set[str] = set()
    for names in section.programs:
        path = ("clients", "programs", names)
        for name in names_in(names):
            if name in seen:
                yield Problem(path, f"{name} has another program already")
            elif name not in at_sites:
                yield Problem(path, f"no site lists {name}; a program runs at the site that lists it under `clients`")
            elif name in written:
                yield Problem(path, f"{name} has operations in `workload.operations`; a program does what it does")
            seen.add(name)
    if scenario.time_dilation == AUTO:
        yield Problem(("time_dilation",), "client programs cannot be rehearsed in virtual time; write a factor")
    if scenario.timeline.withdraw is not None:
        yield Problem(("timeline", "withdraw"), "client programs do not leave in two groups; remove it")
