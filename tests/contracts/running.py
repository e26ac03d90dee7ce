"""Scenarios and conformance cases of the contract routers, in the simulator, judged as the product judges them."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

from analysis.engines import PlainEngine
from analysis.pipeline import analyze
from analysis.tables.summary import CORRECT, UNJUDGED, Delivery
from emulation.planning.plan import make_plan
from emulation.simulation.run import simulate
from scenario.loading import load
from studies.conformance import Result, SimulatedCaseRunner, read_all, run_case
from studies.conformance.model import Case
from studies.conformance.protocols import ConformanceProtocol

ROOT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).parent
STOCKS = "[class,eq,'STOCK']"
ALL = f"{STOCKS},[odd,>=,0],[text,str-prefix,'']"
LARGE = 200
_TEXT = f",[text,'{'x' * LARGE}']"
PUBLICATIONS, PER_SECOND = 100, 8
"""Publications of each publisher in a scenario."""


def scenario(
    routing: str,
    topology: str,
    publishers: Sequence[str],
    subscribers: Sequence[str],
    faults: Sequence[str] = (),
    *,
    heartbeat: str = "200ms",
    limits: str = "",
    publications: int = PUBLICATIONS,
    large: Collection[int] = (),
) -> str:
    """A scenario whose clients, written as `client@broker`, publish or subscribe.

    A subscriber named `S...` wants all publications, and one named `T...` every second one, to show mistakes in
    matching. Publications whose numbers are in `large` have `LARGE` bytes more than others.
    """
    operations = []
    for client, broker in _placed(publishers):
        operations.append(f'{{at: 0.1s, client: {client}, broker: {broker}, id: a, advertise: "{ALL}"}}')
        operations += [
            f"{{at: {2 + number / PER_SECOND:.3f}s, client: {client}, broker: {broker}, "
            f"publish: \"[class,'STOCK'],[odd,{number % 2}]{_TEXT if number in large else ''}\"}}"
            for number in range(publications)
        ]
    for client, broker in _placed(subscribers):
        wanted = f"{STOCKS},[odd,=,1]" if client.startswith("T") else STOCKS
        operations.append(f'{{at: 1s, client: {client}, broker: {broker}, id: s, subscribe: "{wanted}"}}')
    return "\n".join(
        [
            "name: contract",
            f"topology: {topology}",
            f"routing: {routing}",
            "workload:",
            "  operations:",
            *(f"    - {operation}" for operation in operations),
            f"brokers: {{limits: {{heartbeat: {heartbeat}, reconnect_last: 200ms, {limits}}}}}",
            f"timeline: {{join: 2s, run: {publications / PER_SECOND + 0.5}s, drain: 5s}}",
            *(["faults:", *(f"  - {fault}" for fault in faults)] if faults else []),
        ]
    )


def _placed(clients: Sequence[str]) -> Iterator[tuple[str, str]]:
    for client in clients:
        name, _, broker = client.partition("@")
        yield name, broker


def judged(text: str, directory: Path) -> Delivery:
    """The oracle's verdict on a simulated run of a scenario."""
    file = directory / "contract.yaml"
    file.write_text(text)
    return verdict_on(simulated(file))


def simulated(scenario: Path) -> Path:
    """The directory of a simulated run, beside the scenario's file."""
    return simulate(make_plan(load(scenario)), scenario.parent).directory


def verdict_on(run: Path) -> Delivery:
    """The oracle's verdict on a run of one variant."""
    return analyze(run, PlainEngine()).variants[0].delivery


def is_right(delivery: Delivery) -> bool:
    """Correct; or unjudged in nothing but what real time takes, because other tests starved the run's host."""
    starved = delivery.verdicts == [UNJUDGED] and isinstance(delivery.unjudged, str)
    return starved or delivery.verdicts == [CORRECT]


def cases(name: str) -> list[Case]:
    """The cases in a file beside this module."""
    return [case for case in read_all([HERE / name]) if isinstance(case, Case)]


def shipped_cases(*names: str) -> list[Case]:
    """The cases for all protocols in files of `tests/conformance`, but those in which brokers or links fail."""
    files = [ROOT / "tests" / "conformance" / name for name in names]
    found = [case for case in read_all(files) if isinstance(case, Case)]
    return [case for case in found if case.protocols is None and not case.faulty]


def tried(case: Case, protocol: ConformanceProtocol) -> Result:
    """The result of a case in the simulator."""
    return run_case(case, protocol, SimulatedCaseRunner())
