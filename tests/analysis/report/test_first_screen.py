"""The first screen begins with the right sentence, names every verdict, and has one picture."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from analysis.engines import PlainEngine
from analysis.pipeline import analyze
from analysis.report.courses import courses_of
from analysis.report.data import ReportData, read_report_data
from analysis.report.first_screen import ROWS_SHOWN, FirstScreen, drawings_of, first_screen
from analysis.report.sentences.headline import headline
from analysis.tables.summary import BROKER_DEFECT, STATE_LEFT
from record.fidelity import Check, FidelityVerdict, VariantFidelity
from record.manifest import MODELLED
from tests.analysis.history import History, joined, write_run
from tests.analysis.oracle_cases_of_best_effort import many

FINDING = (
    "Nothing was shown about the delays of variant dynamic and variant fixed: chance can only be ruled out over at "
    "least 25 s in which both deliver (field timeline.run)."
)


def fixed() -> History:
    return joined("fixed").publish().notify(at=110.2)


def dynamic() -> History:
    return joined("dynamic").publish().notify(at=110.1)


def read(directory: Path, *variants: History, fidelity: str | None = "VALID") -> ReportData:
    run = write_run(directory, variants, fidelity)
    analyze(run, PlainEngine())
    return read_report_data(run)


def screen(data: ReportData) -> FirstScreen:
    return first_screen(data, courses_of(data)[0], drawings_of(data))


def with_verdicts(data: ReportData, *verdicts: str) -> ReportData:
    """The run with other verdicts on its first variant, whose numbers stay."""
    first, *others = data.summary.variants
    first = msgspec.structs.replace(first, delivery=msgspec.structs.replace(first.delivery, verdicts=list(verdicts)))
    summary = msgspec.structs.replace(data.summary, variants=[first, *others])
    return ReportData(**{name: getattr(data, name) for name in data.__dataclass_fields__} | {"summary": summary})


def test_a_comparison_comes_first_where_the_run_held(tmp_path: Path) -> None:
    found = headline(read(tmp_path / "run", fixed(), dynamic()))
    assert found.lead == FINDING
    assert found.details[0].startswith("Mean delay 100 ms instead of 200 ms")


def test_a_single_variant_begins_with_its_deliveries_and_delays(tmp_path: Path) -> None:
    found = headline(read(tmp_path / "run", fixed()))
    assert found.lead.startswith("Every subscriber received exactly what it should: all 1 expected notifications")
    assert found.details == ["Half of the notifications took at most 200 ms, and 99% at most 200 ms."]


def test_a_defect_comes_before_everything_else(tmp_path: Path) -> None:
    lossy = joined("lossy").publish().notify(at=110.1).publish("P:2", 120)
    two = headline(read(tmp_path / "two", fixed(), lossy, fidelity="INVALID"))
    assert two.lead == "Under lossy, 1 of 2 expected notifications never arrived."
    assert two.details[0].startswith("Nothing was shown about the delays of variant lossy")
    assert headline(read(tmp_path / "one", lossy)).lead == "1 of 2 expected notifications never arrived."
    other = joined("other").publish()
    assert headline(read(tmp_path / "three", fixed(), lossy, other)).lead == (
        "Under lossy, 1 of 2 expected notifications never arrived. Deliveries under other were not correct either."
    )


@pytest.mark.parametrize(
    ("verdict", "lead"),
    [
        (BROKER_DEFECT, "A broker failed by a defect of its own code"),
        (STATE_LEFT, "Routing tables hold rows that no client stands for any more."),
    ],
)
def test_defects_without_a_wrong_notification_are_named(tmp_path: Path, verdict: str, lead: str) -> None:
    assert headline(with_verdicts(read(tmp_path / "run", fixed()), verdict)).lead.startswith(lead)


def test_an_invalid_emulation_comes_before_its_numbers(tmp_path: Path) -> None:
    found = headline(read(tmp_path / "run", fixed(), dynamic(), fidelity="INVALID"))
    assert found.lead == "The emulation did not meet its requests: the numbers describe the hosts, not the overlay."
    assert found.details == [FINDING]


def test_a_run_without_publications_says_so_and_one_with_a_silent_variant_does_not(tmp_path: Path) -> None:
    assert headline(read(tmp_path / "silent", joined("fixed"))).lead.startswith("No client published anything")
    both = headline(read(tmp_path / "both", fixed(), joined("silent")))
    assert both.lead.endswith("delivered no notification in common, so their delays cannot be compared.")


def test_the_picture_shows_the_two_variants_that_are_compared(tmp_path: Path) -> None:
    slow = joined("slow").publish().notify(at=110.9)
    data = read(tmp_path / "run", fixed(), slow, dynamic())
    assert [drawing.variant for drawing in screen(data).drawings] == ["fixed", "dynamic"]
    assert [drawing.variant for drawing in drawings_of(data)] == ["fixed", "slow", "dynamic"]
    assert [drawing.variant for drawing in screen(read(tmp_path / "one", fixed())).drawings] == ["fixed"]


def test_the_delivery_ratio_is_the_picture_of_best_effort(tmp_path: Path) -> None:
    data = read(tmp_path / "run", many("gossip", 0.4, "x-" * 20), fixed())
    assert [course.name for course in courses_of(data)] == ["delivery-ratio", "delays"]
    ratio, none = (row.notes for row in screen(data).verdicts)
    assert ratio[0].startswith("Delivery ratio 50.0% of 40 due notifications")
    assert none == ["Judged 100% of 1 owed notification"]
    assert [course.name for course in courses_of(read(tmp_path / "other", fixed()))] == ["delays"]


def test_a_verdict_that_is_not_valid_has_its_first_reason_beside_it(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", [fixed(), dynamic()], links=MODELLED)
    degraded, other = (
        Check(name=name, value=12.0, unit="ms", limit=10.0, verdict=FidelityVerdict.DEGRADED, detail="worst at B7")
        for name in ("event loop", "relay")
    )
    judged = [
        VariantFidelity(name="fixed", verdict=FidelityVerdict.DEGRADED, checks=[degraded, other]),
        VariantFidelity(name="dynamic", verdict=FidelityVerdict.VALID, checks=[]),
    ]
    (run / "fidelity.json").write_bytes(msgspec.json.encode({"verdict": "DEGRADED", "variants": judged}))
    analyze(run, PlainEngine())
    rows = screen(read_report_data(run)).verdicts
    power = "Judged 100% of 1 owed notification"
    assert [(row.fidelity, row.notes) for row in rows] == [
        ("DEGRADED", [power, "event loop: worst at B7"]),
        ("VALID", [power]),
    ]


def test_of_many_variants_those_that_need_a_look_have_a_row(tmp_path: Path) -> None:
    def rows(count: int) -> FirstScreen:
        names = [f"V{number}" for number in range(count)]
        good = [joined(name).publish().notify() for name in names]
        run = write_run(tmp_path / f"run-{count}", [*good, joined("lossy").publish()], links=MODELLED)
        judged = [VariantFidelity(name=name, verdict=FidelityVerdict.VALID, checks=[]) for name in [*names, "lossy"]]
        (run / "fidelity.json").write_bytes(msgspec.json.encode({"verdict": "VALID", "variants": judged}))
        analyze(run, PlainEngine())
        return screen(read_report_data(run))

    many_rows = rows(ROWS_SHOWN + 2)
    assert [row.summary.name for row in many_rows.verdicts[:2]] == ["lossy", "V0"]
    assert (len(many_rows.verdicts), many_rows.more_verdicts) == (ROWS_SHOWN, 3)
    few = rows(3)
    assert [row.summary.name for row in few.verdicts] == ["V0", "V1", "V2", "lossy"]
    assert few.more_verdicts == 0
