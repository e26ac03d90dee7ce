"""Three routers carry what the contract of routing protocols promises, on every runtime; broken variants do not."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from emulation.run.interrupt import Interrupt
from studies.conformance import CaseVerdict, Result, SimulatedCaseRunner, run_case
from studies.conformance.case_runner import CaseRunner
from studies.conformance.display import explanation
from studies.conformance.host import host_case_runner
from studies.conformance.model import Case
from studies.conformance.selection import Trial, in_company
from tests.contracts.contract import Catch, Contract
from tests.contracts.contracts import CONTRACTS
from tests.contracts.gossip_properties import everyone_is_notified_over_links_that_return
from tests.contracts.on_hosts import brokers_know_the_protocols
from tests.contracts.properties import CORRECT
from tests.contracts.protocols import GOSSIP, RELIABLE_FLOODING, registered
from tests.contracts.running import HERE, judged, shipped_cases
from tests.proof import drawn

README = (HERE / "README.md").read_text(encoding="utf-8")
ROW = re.compile(r"^\| `(\w+)` \| (.+) \| (\w+), (.+) \| ([\w, ]+) \|$", re.MULTILINE)
"""Variant, its defect, kind of judge, name of what catches it, finding."""

OWN = [(contract, case) for contract in CONTRACTS.values() for case in contract.cases]
SHIPPED = [
    (contract, case)
    for contract in CONTRACTS.values()
    for case in shipped_cases(*contract.shipped)
    if contract.suits(case)
]
SCENARIOS = [(contract, name) for contract in CONTRACTS.values() for name in contract.scenarios]
PROPERTIES = [(contract, name) for contract in CONTRACTS.values() for name in contract.properties]
CATCHES = [(contract, catch) for contract in CONTRACTS.values() for catch in contract.catches]


def shown(value: object) -> str:
    match value:
        case Contract():
            return value.protocol
        case Case():
            return value.id
        case Catch():
            return value.router.__name__
    return str(value).replace(" ", "-")


def check(result: Result) -> None:
    assert result.verdict is CaseVerdict.PASSED, "\n".join([result.note, *explanation(result)])


@pytest.fixture
def known() -> Iterator[None]:
    with registered():
        yield


@pytest.mark.usefixtures("known")
@pytest.mark.parametrize(("contract", "case"), [*OWN, *SHIPPED], ids=shown)
def test_a_case_passes(contract: Contract, case: Case) -> None:
    check(run_case(case, contract.row, SimulatedCaseRunner()))


@pytest.mark.usefixtures("known")
@pytest.mark.parametrize(("contract", "name"), SCENARIOS, ids=shown)
def test_the_oracle_finds_a_scenario_correct(contract: Contract, name: str, tmp_path: Path) -> None:
    delivery = judged(contract.scenarios[name], tmp_path)
    assert delivery.verdicts == [CORRECT]
    assert delivery.delivered > 300


@pytest.mark.usefixtures("known")
@pytest.mark.parametrize(("contract", "name"), PROPERTIES, ids=shown)
def test_a_property_holds(contract: Contract, name: str) -> None:
    assert contract.properties[name]() == CORRECT


@pytest.mark.parametrize(("contract", "catch"), drawn(CATCHES), ids=shown)
def test_a_broken_variant_is_caught(contract: Contract, catch: Catch, tmp_path: Path) -> None:
    assert contract.caught(catch, tmp_path) == catch.found


def test_each_router_has_broken_variants() -> None:
    for contract in CONTRACTS.values():
        assert len({catch.router for catch in contract.catches}) >= 5


def test_the_page_names_what_catches_each_variant() -> None:
    named = [(variant, kind, by, found) for variant, _, kind, by, found in ROW.findall(README)]
    assert named == [
        (catch.router.__name__, contract.kind(catch.by), catch.by, catch.found) for contract, catch in CATCHES
    ]


@pytest.mark.usefixtures("known")
def test_links_of_simulated_gossip_vanish_and_return() -> None:
    finding = everyone_is_notified_over_links_that_return(SimulatedCaseRunner(), CONTRACTS[GOSSIP].row)
    assert finding == CORRECT


def passes(cases: Sequence[tuple[Contract, Case]], runner: CaseRunner) -> None:
    for trial in in_company(Trial(case, contract.row) for contract, case in cases):
        check(run_case(trial.case, trial.protocol, runner))


@pytest.mark.proof
@pytest.mark.container
@pytest.mark.parametrize("runtime", ["process"])
def test_on_real_brokers(runtime: str) -> None:
    with brokers_know_the_protocols(), Interrupt() as interrupt, host_case_runner(runtime, interrupt, print) as runner:
        passes([(contract, case) for contract in CONTRACTS.values() for case in contract.on_real_brokers], runner)
        assert everyone_is_notified_over_links_that_return(runner, CONTRACTS[GOSSIP].row) == CORRECT


@pytest.mark.proof
@pytest.mark.container
def test_in_containers() -> None:
    """Reliable flooding alone needs more of its container than a network: storage that lasts."""
    flooding = CONTRACTS[RELIABLE_FLOODING]
    with (
        brokers_know_the_protocols(),
        Interrupt() as interrupt,
        host_case_runner("container", interrupt, print) as runner,
    ):
        passes([(flooding, case) for case in flooding.on_real_brokers], runner)
