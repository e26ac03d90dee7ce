"""The digest of the program behind a result, and the size of its runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeAlias

import pytest

from analysis.claims import Recipe
from analysis.claims.model import FullSize
from scenario.loading import load
from studies.reproduction import program
from studies.reproduction.plan import SCENARIOS
from studies.reproduction.program import measures_digest, program_digest
from studies.reproduction.size import ScenarioSize

Digest: TypeAlias = Callable[..., str]
"""Digests a small program and its measures with changes, by file with `__` for `/`."""
FILES = {
    "emulation/simulation/run.py": "from broker_service import core\nx = 1\n",
    "broker_service/core.py": "y = 1\n",
    "broker_service/routing/__init__.py": "",
    "broker_service/routing/tid/__init__.py": "from broker_service.routing.tid import router\n",
    "broker_service/routing/tid/router.py": "z = 1\n",
    "broker_service/routing/cbf.py": "z = 1\n",
    "analysis/claims/papers/tid.py": "import emulation.network\nm = 1\n",
    "emulation/network.py": "n = 1\n",
}


@pytest.fixture
def digest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Digest]:
    """Writes a small program, with these changes, and digests it."""
    monkeypatch.setattr(program, "ROOT", tmp_path)

    def made(**changes: str) -> str:
        for name, text in {**FILES, **{key.replace("__", "/") + ".py": text for key, text in changes.items()}}.items():
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_text(text)
        for cached in (program._module, program._file):
            cached.cache_clear()
        measures = ["analysis.claims.papers.tid"]
        return f"{program_digest(['tid'], measures)} {measures_digest(measures)}"

    yield made
    for cached in (program._module, program._file):
        cached.cache_clear()


def test_the_digest_is_of_the_code_that_decides_on_a_result(digest: Digest) -> None:
    before = digest()
    assert digest() == before
    for changed in (
        {"emulation__simulation__run": "from broker_service import core\nx = 2\n"},
        {"broker_service__core": "y = 2\n"},
        {"broker_service__routing__tid__router": "z = 2\n"},
        {"analysis__claims__papers__tid": "m = 2\n"},
    ):
        assert digest(**changed) != before, changed
    for kept in (
        {"broker_service__routing__cbf": "z = 2\n"},
        {"emulation__network": "n = 2\n"},
        {"broker_service__core": '"""Another text."""\n\ny = 1  # and a comment\n'},
    ):
        assert digest(**kept) == before, kept


def test_code_that_runs_a_scenario_and_code_that_measures_claims_have_digests_of_their_own(digest: Digest) -> None:
    program, measures = digest().split()
    other_measure = digest(analysis__claims__papers__tid="import emulation.network\nm = 2\n").split()
    assert (other_measure[0], other_measure[1] == measures) == (program, False)
    other_router = digest(broker_service__routing__tid__router="z = 2\n").split()
    assert (other_router[0] == program, other_router[1]) == (False, measures)


def test_the_extents_in_which_a_scenario_is_smaller() -> None:
    scenario = load(SCENARIOS / "tid" / "tid-t3.yaml", {"timeline.run": "1s"})
    size = ScenarioSize.of(scenario)
    assert str(size).startswith("30 brokers, ")
    sizes = {
        "servers": FullSize(here="topology.brokers", paper=1000),
        "brokers": FullSize(here="brokers", paper=30),
        "layers": FullSize(here="topology.layers", paper=20),
    }
    recipe = Recipe(scenario="x", measure="x", full_size=sizes)
    assert size.beside_the_papers(recipe, scenario.resolved()) == "30 of 1,000 servers, 13 of 20 layers"


def test_of_a_varied_extent_the_greatest_counts() -> None:
    resolved = {
        "vary": {
            "topology.brokers": {"n-50": 50, "n-150": 150},
            "routing": {"Channelization": {"channels": 5}},
        },
        "bursts": [{"publications": 1000}],
    }
    sizes = {
        "dispatchers": FullSize(here="vary.topology.brokers", paper=400),
        "channels": FullSize(here="vary.routing.Channelization.channels", paper=50),
        "publications": FullSize(here="bursts.0.publications", paper=50000),
    }
    found = ScenarioSize().beside_the_papers(Recipe(scenario="x", measure="x", full_size=sizes), resolved)
    assert found == "150 of 400 dispatchers, 5 of 50 channels, 1,000 of 50,000 publications"
