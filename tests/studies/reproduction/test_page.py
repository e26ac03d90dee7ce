"""The page of a reproduction, and its figures."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from xml.etree.ElementTree import fromstring

import msgspec
import pytest

from analysis.claims import Claim, ClaimKind, Claims, Measurement, Paper, Recipe, judge
from analysis.claims.figures import DrawnFigure, FigureRecipe, PublishedCurve
from analysis.claims.quantities import Curve
from analysis.claims.standing import Fit
from studies.cells.attempt import CellFailure
from studies.reproduction import Experiment, ReproductionResult
from studies.reproduction.report import ReproductionData, build_report
from studies.reproduction.report.figures import interval_drawing, paper_figure
from studies.reproduction.results import MeasuredCell
from tests.studies.reproduction.tiny import attempt

RECIPE = Recipe(scenario="tid/tid-5a.yaml", measure="relative delay")
DELAY = Claim(id="x-delay", paper="tid", kind=ClaimKind.RATIO, what="mean delay", published=-0.2, measured_by=RECIPE)
ORDER = Claim(
    id="x-order", paper="tid", kind=ClaimKind.ORDER, what="overload",
    measured_by=Recipe(scenario="tid/tid-5a.yaml", measure="overload", parts=("fixed overloads", "dynamic does not")),
)  # fmt: skip
OPEN = Claim(
    id="x-open", paper="tid", kind=ClaimKind.PROPERTY, what="nothing is lost", unmeasurable="no <log> shows it"
)
OTHER = Claim(id="y-other", paper="gryphon", kind=ClaimKind.PROPERTY, what="in order")
CLAIMS = Claims(
    papers={
        "tid": Paper(id="tid", system="PADRES", year=2008, file="x"),
        "gryphon": Paper(id="gryphon", system="Gryphon", year=2004, file="y"),
    },
    claims=(DELAY, ORDER, OPEN, OTHER),
)


def drawn(*y: float | None) -> DrawnFigure:
    curve = Curve(name="fixed", x=[0.0, 1.0], y=list(y))
    return DrawnFigure(figure="Figure 5(a)", x_title="seconds", y_title="delay, ms", curves=[curve])


def run(seed: int, y: float) -> MeasuredCell:
    result = ReproductionResult(
        scenario="tid-5a", seed=seed, runtime="simulated", fingerprint="", measurements={}, figures=(drawn(y, 2 * y),),
        delivery=["correct"], fidelity="VALID",
    )  # fmt: skip
    return attempt(result, cpu_seconds=30.0)


EXPERIMENT = Experiment(
    "tid/tid-5a.yaml", "tid-5a", (DELAY, ORDER), (1, 2), 1.0, "",
    figures=(FigureRecipe(figure="Figure 5(a)", quantity="mean delay over time"),),
)  # fmt: skip
JUDGED = (
    judge(DELAY, [Measurement(values=(-0.1,)), Measurement(values=(-0.12,))]),
    judge(ORDER, [Measurement(values=(0.2, -0.1)), Measurement(values=(0.2, -0.2))]),
)


@pytest.fixture
def page(tmp_path: Path) -> str:
    data = ReproductionData(CLAIMS, JUDGED, [(EXPERIMENT, [run(1, 5.0), run(2, 7.0)])])
    path = build_report(data, tmp_path)
    assert path == tmp_path / "report" / "index.html"
    return path.read_text(encoding="utf-8")


def test_the_summary_comes_first_and_counts_every_claim(page: str) -> None:
    body = page[page.index("<body>") :]
    assert (
        "Of 2 tested claims that were measured, 0 are reproduced, 0 are within a factor of two, 0 point in the same "
        "direction, and 2 differ." in body
    )
    assert "2 runs, 1 min 00 s of processor time" in body
    assert body.index("Outcome by paper") < body.index('id="tid"') < body.index('id="gryphon"')
    assert "2008, 3 claims" in body


def test_a_claim_has_its_numbers_its_reason_and_its_figure(page: str) -> None:
    body = page[page.index('<section id="tid"') :]
    assert "-11.0% [-23.7%, +1.7%]" in body
    assert "the mean is 9 points from the published difference, and chance is not ruled out." in body
    assert "Figure 5(a), from our runs" in body
    assert 'id="figure-tid-tid-5a-0"' in body
    assert body.count("fixed overloads") == 1
    assert 'href="' in body[: body.index("tid/tid-5a.yaml</a>")]


def test_links_lead_to_the_scenarios(page: str, tmp_path: Path) -> None:
    link = page.split('<h3><a href="')[1].split('"')[0]
    assert (tmp_path / "report" / link).resolve().is_file()


def test_every_claim_has_a_row(page: str) -> None:
    assert page.count('<tr class="claim') == len(CLAIMS.claims)
    row = page[page.index('id="x-open"') :]
    assert (
        row.index("nothing is lost")
        < row.index("not measured")
        < row.index("No scenario can measure it: no &lt;log&gt; shows it.")
    )
    assert 'id="y-other"' in page


def test_a_claim_that_was_not_run_is_beside_its_scenario(tmp_path: Path) -> None:
    text = build_report(ReproductionData(CLAIMS, (), []), tmp_path).read_text(encoding="utf-8")
    row = text[text.index("tid/tid-5a.yaml</a>") :]
    assert row.index("no run") < row.index('id="x-delay"') < row.index("No run measured it.")
    real = msgspec.structs.replace(RECIPE, runtimes=("container",))
    claims = Claims(papers=CLAIMS.papers, claims=(msgspec.structs.replace(DELAY, measured_by=real),))
    text = build_report(ReproductionData(claims, (), []), tmp_path).read_text(encoding="utf-8")
    assert "Only real brokers show it: --runtime container measures it." in text


def test_runs_that_failed_are_named(tmp_path: Path) -> None:
    failed = {"tid-5a-1": CellFailure(message="its process was killed by <SIGKILL>", exit_code=4)}
    text = build_report(ReproductionData(CLAIMS, (), [], failed), tmp_path).read_text(encoding="utf-8")
    assert "No claim has been measured yet." in text
    assert "id-5a-1 failed: its process was killed by &lt;SIGKILL&gt;" in text


def test_a_smaller_form_is_stated_and_its_verdicts_are_provisional(page: str, tmp_path: Path) -> None:
    smaller = replace(EXPERIMENT, quick_form={"timeline.run": "5s"})
    judged = [msgspec.structs.replace(found, from_quick_form=True) for found in JUDGED]
    data = ReproductionData(CLAIMS, judged, [(smaller, [run(1, 5.0)])])
    text = build_report(data, tmp_path).read_text(encoding="utf-8")
    assert "in a smaller form: timeline.run: 5s" in text
    assert text.count("<small>provisional</small>") == 2
    assert "smaller form: " not in page
    assert "<small>provisional</small>" not in page


def test_fields_that_were_set_are_told_at_the_head_and_with_every_claim(page: str, tmp_path: Path) -> None:
    changed = replace(EXPERIMENT, changed={"timeline.run": "9s"})
    judged = [msgspec.structs.replace(found, changed="timeline.run=9s") for found in JUDGED]
    data = ReproductionData(CLAIMS, judged, [(changed, [run(1, 5.0)])])
    text = build_report(data, tmp_path).read_text(encoding="utf-8")
    body = text[text.index("<body>") :]
    assert body.index("these runs had --set timeline.run=9s") < body.index("Outcome by paper")
    assert body.count("<small>with timeline.run=9s</small>") == 2
    assert "--set" not in page


def test_size_and_standing_stand_beside_the_verdict(tmp_path: Path) -> None:
    fit = Fit(scenarios=("tid/tid-5a.yaml",), parameters={"brokers.service_time": "48us"}, to=("x-delay",))
    fitted = msgspec.structs.replace(DELAY, fits=(fit,))
    calibrated = msgspec.structs.replace(
        judge(fitted, [Measurement(values=(-0.1,))] * 2), smaller="60 of 1,000 servers"
    )
    claims = Claims(papers=CLAIMS.papers, claims=(fitted, ORDER))
    data = ReproductionData(claims, [calibrated, JUDGED[1]], [(EXPERIMENT, [run(1, 5.0)])])
    text = build_report(data, tmp_path).read_text(encoding="utf-8")
    assert "Of 1 tested claims that were measured" in text
    row = text[text.index('id="x-delay"') : text.index('id="x-order"')]
    assert "<small>calibrated</small><small>60 of 1,000 servers</small>" in row
    assert "brokers.service_time = 48us" in row


def test_a_figure_is_the_mean_of_all_seeds_with_their_spread() -> None:
    (trace,) = paper_figure([drawn(5.0, None), drawn(7.0, 4.0)]).data
    assert (list(trace.x), list(trace.y)) == ([0, 1], [6.0, 4.0])
    assert (list(trace.error_y.array), list(trace.error_y.arrayminus)) == ([1, 0], [1, 0])
    (alone,) = paper_figure([drawn(5.0, 6.0)]).data
    assert alone.error_y.array is None


def test_named_positions_are_bars() -> None:
    curves = [Curve(name="", x=["SPR", "IDR"], y=[1.0, 100.0])]
    figure = paper_figure([DrawnFigure(figure="x", x_title="variant", y_title="messages", curves=curves)])
    assert [trace.type for trace in figure.data] == ["bar"]
    assert figure.layout.yaxis.type == "log"


def test_numbers_of_the_paper_are_hollow_marks_in_the_colour_of_their_curve() -> None:
    printed = PublishedCurve(source="Table 3", curve="fixed", x=[0.0, 1.0], y=[4.0, 5.0])
    ours, theirs = paper_figure([drawn(5.0, 6.0)], (printed,)).data
    assert theirs.name == "fixed, published"
    assert "Table 3 of the paper" in theirs.hovertemplate
    assert (list(theirs.x), list(theirs.y)) == ([0, 1], [4, 5])
    assert theirs.marker.symbol == "diamond-open"
    assert theirs.marker.color == ours.line.color
    (_, other) = paper_figure([drawn(5.0, 6.0)], (PublishedCurve(source="text", x=[1.0], y=[900.0]),)).data
    assert (other.name, other.mode) == ("published", "markers")


def test_an_axis_is_logarithmic_where_published_numbers_are_far_away() -> None:
    (near, far) = (PublishedCurve(source="text", x=[1.0], y=[y]) for y in (7.0, 900.0))
    assert paper_figure([drawn(5.0, 6.0)], (near,)).layout.yaxis.type != "log"
    assert paper_figure([drawn(5.0, 6.0)], (far,)).layout.yaxis.type == "log"


def test_the_drawing_of_an_interval_spans_what_it_shows() -> None:
    ratio, order = JUDGED[0].parts[0], JUDGED[1].parts[0]
    svg = fromstring(interval_drawing(ratio))
    line, dot = svg.find("line[@class='measured']"), svg.find("circle")
    assert line is not None
    assert dot is not None
    assert float(line.get("x1", "")) < float(dot.get("cx", "")) < float(line.get("x2", ""))
    assert svg.find("polygon[@class='published']") is not None
    assert fromstring(interval_drawing(order)).find("line[@class='zero']") is not None
    assert interval_drawing(judge(DELAY, []).parts[0]) == ""
