"""Lines about deliveries and faults in the terminal, and the exit code."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from rich.console import Console

from analysis.engines import PlainEngine
from analysis.pipeline import analyze
from analysis.report import build_report
from analysis.tables.limits import LimitOutcome
from analysis.tables.summary import UNJUDGED
from command_line.commands.analyze import analyze_run
from command_line.commands.verdicts import exit_code, fault_lines, print_finding, print_verdicts
from record.exit_codes import ExitCode
from record.limits import Limit, LimitedFigure
from record.manifest import MODELLED
from record.promises import Order, Promises
from studies.verdict_files import VerdictFiles
from tests.analysis.history import History, joined, write_run
from tests.analysis.oracle_cases_of_best_effort import many
from tests.analysis.report.figures.test_faults import KILL, fault


def test_one_line_a_kind_with_sums_and_extremes() -> None:
    other = fault(detected_first_s=0.5, detected_last_s=1.5, recovered_s=2.0, late=1, excused=1, dropped=0, lost=3)
    quiet = fault(kind="slow", detected_first_s=None, detected_last_s=None)
    assert fault_lines([KILL, quiet, other]) == [
        "kill (2 times): detected after 0.00 to 1.50 s, recovered 2.00 s after the heal; "
        "1,201 late, 15 excused, 12 dropped, 3 lost",
        "slow: no neighbour noticed, recovered 0.00 s after the heal; 1,200 late, 14 excused, 12 dropped",
    ]


def test_moves_have_an_arrival_and_no_neighbours_that_notice() -> None:
    moved = fault(kind="move", what=["berlin"], detected_first_s=None, detected_last_s=None)
    assert fault_lines([moved]) == ["move: recovered 0.00 s after the arrival; 1,200 late, 14 excused, 12 dropped"]


def test_what_never_ended_and_what_cannot_be_compared_is_said() -> None:
    unhealed = fault(healed_ns=None, recovered_s=None)
    assert "never healed;" in fault_lines([unhealed])[0]
    assert ", 1 never healed;" in fault_lines([unhealed, KILL])[0]
    assert "no delivery before to compare with;" in fault_lines([fault(recovered_s=None, late=None)])[0]


def test_nothing_is_said_where_nothing_was_injected() -> None:
    assert fault_lines([]) == []


@pytest.mark.parametrize(
    ("wanted", "verdict", "code"), [(0.4, "correct", ExitCode.CORRECT), (0.6, "below expectation", ExitCode.VIOLATED)]
)
def test_the_ratio_of_best_effort_comes_first(tmp_path: Path, wanted: float, verdict: str, code: ExitCode) -> None:
    summary = analyze(write_run(tmp_path / "run", [many("base", wanted, "x-" * 20)]), PlainEngine())
    console = Console(width=200)
    with console.capture() as captured:
        print_verdicts(console, summary, None)
    lines = [line.strip() for line in captured.get().splitlines() if line]
    assert lines[:2] == ["base", f"delivery: {verdict}"]
    assert lines[2] == (
        f"delivery ratio 50.0% of 40 due notifications (95% interval 50.0% to 50.0%); {wanted:.1%} expected"
    )
    assert exit_code(summary) is code


@pytest.mark.parametrize(
    ("fidelity", "code"),
    [("VALID", ExitCode.VIOLATED), ("DEGRADED", ExitCode.VIOLATED), ("INVALID", ExitCode.INVALID)],
)
def test_unjudged_is_no_violation_where_the_emulation_did_not_hold(
    tmp_path: Path, fidelity: str, code: ExitCode
) -> None:
    summary = analyze(write_run(tmp_path / "run", [joined("cheap").publish(price=50)]), PlainEngine())
    assert summary.delivery == [UNJUDGED]
    variants = [msgspec.structs.replace(variant, fidelity=fidelity) for variant in summary.variants]
    summary = msgspec.structs.replace(summary, fidelity=fidelity, variants=variants)
    assert exit_code(summary) is code


@pytest.mark.parametrize("damaged", ["", '{"event": "publ'])
def test_damaged_lines_of_logs_are_told(tmp_path: Path, damaged: str) -> None:
    run = write_run(tmp_path / "run", [many("base", 0.4, "x-" * 20)])
    log = next((run / "logs").iterdir())
    first, *others = log.read_text().splitlines()
    log.write_text("\n".join([first, *([damaged] if damaged else []), *others, ""]))
    console = Console(width=200)
    with console.capture() as captured:
        print_verdicts(console, analyze(run, PlainEngine()), None)
    told = [line for line in captured.get().splitlines() if "not records of the log schema" in line]
    assert bool(told) == bool(damaged)
    assert not told or told[0].startswith("logs: 1 of ")


@pytest.mark.parametrize("missing", [[], ["B2"]])
def test_a_broker_that_ran_and_left_no_log_is_named(tmp_path: Path, missing: list[str]) -> None:
    run = write_run(tmp_path / "run", [joined("base").publish().notify(at=110.2)])
    for name in ("B1", "B2", "B3"):
        (run / "logs" / f"{name}.jsonl").touch()
    for name in missing:
        (run / "logs" / f"{name}.jsonl").unlink()
    summary = analyze(run, PlainEngine())
    console = Console(width=200)
    with console.capture() as captured:
        print_verdicts(console, summary, None)
    told = [line for line in captured.get().splitlines() if line.startswith("logs: ")]
    page = build_report(run).read_text()
    if missing:
        assert told == [
            "logs: 1 of the brokers that ran have no log file (B2), so numbers and verdicts may be wrong; "
            "run the scenario again"
        ]
        assert "Logs: 1 of the brokers that ran have no log file (B2)" in page
    else:
        assert told == []
        assert "no log file" not in page


def closing(directory: Path, fidelity: str, *variants: History) -> list[str]:
    run = write_run(directory, variants, fidelity, links=MODELLED)
    console = Console(width=200)
    with console.capture() as captured:
        print_finding(console, analyze(run, PlainEngine()), run)
    return captured.get().split("\n")


def test_the_difference_between_variants_is_printed(tmp_path: Path) -> None:
    fixed, dynamic = (joined(name).publish().notify(at=at) for name, at in (("fixed", 110.2), ("dynamic", 110.1)))
    finding = (
        "Nothing was shown about the delays of variant dynamic and variant fixed: chance can only be ruled out over at "
        "least 25 s in which both deliver (field timeline.run)."
    )
    numbers = "Mean delay 100 ms instead of 200 ms, over 1 notification that both delivered."
    assert closing(tmp_path / "valid", "VALID", fixed, dynamic) == ["", finding, numbers, ""]
    assert closing(tmp_path / "alone", "VALID", fixed) == [""]
    caution = "Do not quote this difference: a verdict above says that the run did not hold."
    assert closing(tmp_path / "invalid", "INVALID", fixed, dynamic) == ["", finding, numbers, caution, ""]
    lossy = joined("lossy").publish().notify(at=110.1).publish("P:2", 120)
    assert caution in closing(tmp_path / "lossy", "VALID", fixed, lossy)


def test_the_promise_that_a_single_variant_kept_under_faults_is_printed(tmp_path: Path) -> None:
    def struck(kind: str = "kill", healed: str = "restart") -> History:
        calm = joined("base", promises=Promises(order=Order.PUBLISHER)).publish().notify(at=110.1)
        return calm.fault(130, kind, "B9").heal(135, healed, "B9")

    kept = "0 of 1 notification that had to come were lost, none doubled, none out of order."
    assert closing(tmp_path / "kept", "VALID", struck()) == ["", f"Broker B9 was killed; {kept}", ""]
    assert closing(tmp_path / "links", "VALID", struck("link_down", "link_up")) == ["", f"Faults struck B9; {kept}", ""]
    assert closing(tmp_path / "invalid", "INVALID", struck()) == [""]
    assert closing(tmp_path / "lost", "VALID", struck().publish("P:2", 120)) == [""]


UNKNOWN = "fidelity: Nothing is known about the fidelity of the emulation, because no fidelity.json judges it."


@pytest.mark.parametrize(
    ("fidelity", "at", "code"),
    [
        ("VALID", 110.2, ExitCode.CORRECT),
        (None, 110.2, ExitCode.INVALID),
        (None, None, ExitCode.VIOLATED),
    ],
)
def test_a_run_without_its_fidelity_proves_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], fidelity: str | None, at: float | None, code: ExitCode
) -> None:
    history = joined("base").publish()
    run = write_run(tmp_path / "run", [history if at is None else history.notify(at=at)], fidelity)
    assert analyze_run(str(run), PlainEngine(), VerdictFiles()) is code
    assert capsys.readouterr().out.count(UNKNOWN) == (fidelity is None)


LATE = Limit(figure=LimitedFigure.MEAN, most=150.0)
FEW = Limit(figure=LimitedFigure.MESSAGES, most=10)
NO_MEMORY = Limit(figure=LimitedFigure.MEMORY, most=60e6)


@pytest.mark.parametrize(
    ("limits", "lines", "code"),
    [
        ([FEW], ["limits: 1 met", "messages between brokers 0: met; at most 10 expected"], ExitCode.CORRECT),
        (
            [LATE, FEW],
            [
                "limits: 1 met, 1 missed",
                "mean delay 200 ms: missed by 50 ms (33.3%); at most 150 ms expected",
                "messages between brokers 0: met; at most 10 expected",
            ],
            ExitCode.VIOLATED,
        ),
        (
            [NO_MEMORY],
            [
                "limits: 1 not judged",
                "memory of the largest broker: not judged, at most 60 MB expected: no broker's memory was read",
            ],
            ExitCode.INVALID,
        ),
    ],
)
def test_each_limit_is_a_line(tmp_path: Path, limits: list[Limit], lines: list[str], code: ExitCode) -> None:
    run = write_run(tmp_path / "run", [joined("base", limits=limits).publish().notify(at=110.2)], links=MODELLED)
    summary = analyze(run, PlainEngine())
    console = Console(width=200)
    with console.capture() as captured:
        print_verdicts(console, summary, None)
    printed = [line.strip() for line in captured.get().splitlines()]
    begin = printed.index(lines[0])
    assert printed[begin : begin + len(lines)] == lines
    assert exit_code(summary) is code


def test_a_limit_on_delays_of_which_the_hosts_part_is_unknown_is_not_judged(tmp_path: Path) -> None:
    """Real brokers, whose waits for processors nobody sampled."""
    run = write_run(tmp_path / "run", [joined("base", limits=[LATE]).publish().notify(at=110.2)])
    summary = analyze(run, PlainEngine())
    assert [limit.outcome for limit in summary.variants[0].limits or ()] == [LimitOutcome.NOT_JUDGED]
    assert exit_code(summary) is ExitCode.INVALID


def test_a_missed_limit_comes_before_one_that_was_not_judged_and_after_no_violation(tmp_path: Path) -> None:
    both = write_run(
        tmp_path / "both", [joined("base", limits=[LATE, NO_MEMORY]).publish().notify(at=110.2)], links=MODELLED
    )
    assert exit_code(analyze(both, PlainEngine())) is ExitCode.VIOLATED
    cut = joined("base", limits=[NO_MEMORY], interrupted=True).publish().notify(at=110.2)
    summary = analyze(write_run(tmp_path / "cut", [cut], links=MODELLED), PlainEngine())
    assert exit_code(msgspec.structs.replace(summary, interrupted=True)) is ExitCode.CORRECT


def test_three_examples_of_each_defect_are_lines(tmp_path: Path) -> None:
    history = joined("base")
    for number in range(5):
        history.publish(f"P:{number}", 110 + number)
    history.publish("P:5", 120).notify("P:5", "P:5", at=120.1)
    summary = analyze(write_run(tmp_path / "run", [history]), PlainEngine())
    console = Console(width=200)
    with console.capture() as captured:
        print_verdicts(console, summary, None)
    lines = [line.strip() for line in captured.get().splitlines()]
    assert [line for line in lines if line.startswith(("lost:", "duplicated:"))] == [
        "duplicated: P:5 to S: notified 2 times",
        *(f"lost: P:{number} to S: no broker received the publication" for number in range(3)),
    ]
