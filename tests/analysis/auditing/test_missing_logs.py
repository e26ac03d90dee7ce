"""A node whose log is missing or empty makes a run INVALID, everywhere where a verdict is shown."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from rich.console import Console

from analysis.engines import PlainEngine
from analysis.pipeline import analyze
from analysis.report import build_report
from analysis.run_files.run_directory import read_manifest
from analysis.tables.audited import with_audit
from analysis.tables.summary import Summary
from command_line.commands.verdicts import exit_code, print_verdicts
from record import fidelity
from record.exit_codes import ExitCode
from record.fidelity import Fidelity, FidelityVerdict
from record.manifest import MODELLED
from studies.junit import JunitOutcome
from studies.verdict_cases import Origin, verdict_suite, verdicts_of
from tests.analysis.history import joined, write_run

LOGGED = "".join(
    f'{{{{"time":1,"node":"{{0}}","variant":"base","event":"{event}","count":{count}}}}}\n'
    for event, count in (("started", 1), ("stopped", 0))
)


def a_run(directory: Path, *, drivers: list[str] | None, logging: list[str]) -> Path:
    """A correct run of the brokers B1, B2 and B3, which names these drivers, and in which these nodes logged."""
    run = write_run(directory, [joined("base").publish().notify(at=110.2)], links=MODELLED)
    manifest = json.loads((run / "manifest.json").read_text())
    if drivers is not None:
        manifest["variants"][0]["drivers"] = drivers
    (run / "manifest.json").write_text(json.dumps(manifest))
    for node in logging:
        with (run / "logs" / f"{node}.jsonl").open("a") as log:
            log.write(LOGGED.format(node))
    fidelity.write(
        Fidelity(
            verdict=FidelityVerdict.VALID,
            variants=[fidelity.VariantFidelity(name="base", verdict=FidelityVerdict.VALID)],
        ),
        run,
    )
    return run


def judged(run: Path) -> tuple[Summary, Fidelity]:
    summary = analyze(run, PlainEngine())
    both = with_audit(fidelity.read(run), summary)
    assert both is not None
    return summary, both


def test_a_run_whose_nodes_all_logged_is_valid(tmp_path: Path) -> None:
    summary, both = judged(a_run(tmp_path / "run", drivers=["clients"], logging=["B1", "B2", "B3", "clients"]))
    assert (summary.fidelity, both.verdict) == ("VALID", FidelityVerdict.VALID)
    (check,) = [check for check in both.variants[0].checks if check.name == "nodes without a log"]
    assert (check.value, check.detail) == (0, "all 4 nodes logged their start")
    assert exit_code(summary) is ExitCode.CORRECT


@pytest.mark.parametrize("missing", ["B2", "clients"])
def test_a_node_without_a_log_is_named_everywhere(tmp_path: Path, missing: str) -> None:
    logging = [node for node in ("B1", "B2", "B3", "clients") if node != missing]
    run = a_run(tmp_path / "run", drivers=["clients"], logging=logging)
    summary, both = judged(run)
    assert (summary.fidelity, summary.variants[0].fidelity, summary.delivery) == ("INVALID", "INVALID", ["correct"])
    assert exit_code(summary) is ExitCode.INVALID
    (reason,) = both.variants[0].reasons
    assert reason.startswith(f"nodes without a log: {missing}: ")
    console = Console(width=200)
    with console.capture() as captured:
        print_verdicts(console, summary, both)
    assert reason in captured.get()
    assert reason in build_report(run).read_text()
    manifest = read_manifest(run)
    suite = verdict_suite(
        "test", verdicts_of(summary, both, manifest), Origin(seed=0, revision="", runtime="simulated", report=run)
    )
    (case,) = [case for case in suite.cases if "fidelity" in case.name]
    assert case.kind is JunitOutcome.ERROR and reason in case.text


def test_an_empty_log_is_a_missing_one(tmp_path: Path) -> None:
    run = a_run(tmp_path / "run", drivers=["clients"], logging=["B1", "B2", "B3", "clients"])
    (run / "logs" / "B3.jsonl").write_bytes(b"")
    summary, both = judged(run)
    assert summary.fidelity == "INVALID"
    assert both.variants[0].reasons[0].startswith("nodes without a log: B3: ")


def test_nothing_is_asked_of_a_run_that_does_not_name_its_nodes(tmp_path: Path) -> None:
    summary, both = judged(a_run(tmp_path / "run", drivers=None, logging=[]))
    assert summary.fidelity == "VALID"
    (check,) = [check for check in both.variants[0].checks if check.name == "nodes without a log"]
    assert check.value is None


def test_the_audit_alone_judges_a_run_that_was_not_judged_while_it_lasted(tmp_path: Path) -> None:
    run = a_run(tmp_path / "run", drivers=["clients"], logging=["B1", "B2", "clients"])
    (run / "fidelity.json").unlink()
    summary = analyze(run, PlainEngine())
    both = with_audit(None, summary)
    assert both is not None
    assert (summary.fidelity, both.verdict) == ("INVALID", FidelityVerdict.INVALID)
    whole = analyze(
        a_run(tmp_path / "whole", drivers=["clients"], logging=["B1", "B2", "B3", "clients"]), PlainEngine()
    )
    assert with_audit(None, whole) is None
