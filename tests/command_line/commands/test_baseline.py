"""`brokerlab baseline save` and `emulate --against`, in the simulator."""

from __future__ import annotations

import sys
from pathlib import Path
from xml.etree import ElementTree as Xml

import pytest

import command_line as cli
from broker_service.routing.common.spanning_tree import spanning_tree
from broker_service.routing.medym.multicast import routing_functions

SCENARIO = """\
name: little
topology: {kind: full, brokers: 8, link: {delay: 3ms..40ms}}
routing: {protocol: medym, algorithm: mst}
workload:
  publications: {publishers: 8, rate: 5/s}
  subscriptions: {subscribers: 24, selectivity: 20%}
timeline: {join: 3s, run: 3s, drain: 2s}
"""


@pytest.fixture
def brokerlab(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    """The command line in this process and a directory of its own, with its exit code, output and errors."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "little.yaml").write_text(SCENARIO)

    def called(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["brokerlab", *arguments])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        printed = capfd.readouterr()
        return (ended.value.code if isinstance(ended.value.code, int) else 0), printed.out, printed.err

    return called


EMULATE = ("emulate", "little.yaml", "--runtime", "simulated", "--no-spark", "--no-report")


def save(brokerlab, seeds: str) -> Path:
    """A baseline of these seeds."""
    for seed in seeds:
        assert brokerlab(*EMULATE, "--seed", seed)[0] == 0
    runs = sorted(map(str, Path("runs").iterdir()))
    code, printed, _ = brokerlab("baseline", "save", "little", *runs)
    assert code == 0
    assert printed.startswith(f"baselines/little.yaml: little, simulated, seeds {', '.join(seeds)}; plan ")
    return Path("baselines/little.yaml")


@pytest.fixture
def saved(brokerlab) -> Path:
    """A baseline of one seed."""
    return save(brokerlab, "2")


def test_equal_code_is_the_same_in_every_figure(brokerlab, saved: Path) -> None:
    code, printed, _ = brokerlab(*EMULATE, "--against", "little")
    assert code == 0
    assert printed.count(": the same in one seed (") == 6
    assert len(saved.read_text().splitlines()) == 9


def test_a_router_with_a_defect_that_delivers_all_is_worse(
    brokerlab, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A planted one: the multicast trees take the longest links."""
    save(brokerlab, "1234")
    honest = spanning_tree
    monkeypatch.setattr(
        routing_functions, "spanning_tree", lambda weights, *rest: honest(weights.max() - weights, *rest)
    )
    code, printed, _ = brokerlab(*EMULATE, "--against", "little", "--junit", "out.xml")
    assert code == 1, printed
    assert "delivery: correct" in printed
    assert "  base: mean delay: worse: " in printed
    suites = {suite.get("name"): suite for suite in Xml.parse(tmp_path / "out.xml").getroot()}
    assert [*suites][:4] == [f"little: seed {seed}" for seed in (1, 2, 3, 4)]
    failed = [case.get("name") for case in suites["little: against the baseline"] if case.find("failure") is not None]
    assert "base: mean" in failed


def test_one_seed_claims_nothing(brokerlab, saved: Path) -> None:
    saved.write_text(saved.read_text().replace("mean: ", "mean: 9"))
    code, printed, _ = brokerlab(*EMULATE, "--against", "little", "--seed", "2")
    assert code == 0
    assert "base: mean delay: no difference shown: " in printed


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--against", "other"], "baselines/other.yaml: there is no such baseline"),
        (["--against", "little.yaml"], "little.yaml: is no baseline of this version"),
        (["--against", "little", "--seed", "7"], "--seed 7: baselines/little.yaml has no run of it to pair with"),
        (["--against", "little", "--set", "timeline.run=4s"], "--against baselines/little.yaml: is of another plan ("),
        (["--against", "little", "--runtime", "process"], "is of the runtime simulated, and this run is process"),
    ],
)
def test_what_cannot_be_compared_is_refused_before_anything_runs(
    brokerlab, saved: Path, arguments: list[str], message: str
) -> None:
    before = len(list(Path("runs").iterdir()))
    code, _, said = brokerlab(*EMULATE, *arguments)
    assert code == 2
    assert message in said
    assert len(list(Path("runs").iterdir())) == before


def test_runs_of_other_plans_or_equal_seeds_are_not_saved_together(brokerlab, saved: Path) -> None:
    first = str(min(Path("runs").iterdir()))
    code, _, said = brokerlab("baseline", "save", "twice", first, first)
    assert (code, "the seed 2 is there twice" in said) == (2, True)
    assert brokerlab(*EMULATE, "--out", "others", "--seed", "4", "--set", "timeline.run=4s")[0] == 0
    code, _, said = brokerlab("baseline", "save", "mixed", first, str(next(Path("others").iterdir())))
    assert (code, "has another plan (" in said) == (2, True)


def test_a_run_whose_deliveries_were_violated_is_not_saved(brokerlab) -> None:
    lossy = ("brokers.limits.link_queue=1", "topology.link.bandwidth=50kbit", "workload.publications.rate=60/s")
    assert brokerlab(*EMULATE, *(word for setting in lossy for word in ("--set", setting)))[0] == 1
    code, _, said = brokerlab("baseline", "save", "bad", str(next(Path("runs").iterdir())))
    assert (code, "save a run that is correct" in said) == (2, True)
