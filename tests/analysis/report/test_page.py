"""Sections of the page: defects apart from permitted overtaking, and one row for each check on the emulation."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import msgspec
import pytest

from analysis.engines import PlainEngine
from analysis.pipeline import analyze
from analysis.report.data import read_report_data
from analysis.report.page import render
from record.errors import RunDirectoryError
from record.files import LOADS, write_json
from record.limits import Limit, LimitedFigure
from record.load import Amounts, Course, Distribution, Load
from record.log import Event
from record.manifest import MODELLED
from tests.analysis.history import History, joined, write_run
from tests.analysis.oracle_cases_of_best_effort import many
from tests.analysis.oracle_cases_of_detections import pair


def swapped(history: History) -> History:
    """Two publications that arrive in reverse order."""
    history.publish("P:1", 110).publish("P:2", 111)
    return history.notify("P:2", at=111.5).notify("P:1", at=112)


def page(run: Path) -> str:
    analyze(run, PlainEngine())
    return render(read_report_data(run))


def test_overtaking_that_routing_permits_is_not_a_defect(tmp_path: Path) -> None:
    text = page(write_run(tmp_path / "run", [swapped(joined("dynamic"))]))
    assert "Overtaken under dynamic" in text
    assert "What went wrong" not in text


def test_a_figure_of_delays_that_does_not_hold_says_so(tmp_path: Path) -> None:
    history = joined("dynamic").publish().notify(at=110.2)
    unknown = page(write_run(tmp_path / "unknown", [history]))
    assert unknown.count("200.00<br><small>UNKNOWN: it is not known what this host did to it") == 4
    assert "200.00</td>" in page(write_run(tmp_path / "simulated", [history], links=MODELLED))


def test_each_limit_is_a_row(tmp_path: Path) -> None:
    limits = [Limit(figure=LimitedFigure.MEAN, most=150.0), Limit(figure=LimitedFigure.MESSAGES, most=10)]
    history = joined("dynamic", limits=limits).publish().notify(at=110.2)
    text = page(write_run(tmp_path / "run", [history], links=MODELLED))
    missed = "ean delay 200 ms: missed by 50 ms (33.3%); at most 150 ms expected"
    assert text.count(f"M{missed}") == 1, "beside the verdict on the first screen"
    assert f"<td>mean</td><td>missed</td><td>m{missed}</td>" in text
    assert "<td>messages</td><td>met</td><td>messages between brokers 0: met; at most 10 expected</td>" in text
    assert '<span class="badge bad">limits: missed</span>' in text
    without = page(write_run(tmp_path / "none", [joined("dynamic").publish().notify(at=110.2)], links=MODELLED))
    assert ">limits: " not in without
    assert "<h2>Limits" not in without


def test_only_best_effort_has_a_ratio_over_time(tmp_path: Path) -> None:
    heading = "<figcaption>Delivery ratio over time</figcaption>"
    text = page(write_run(tmp_path / "run", [many("gossip", 0.6, "x-" * 20), joined("dynamic").publish().notify()]))
    assert text.count(heading) == 1
    assert text.index("Delivery ratio 50.0% of 40") < text.index(heading) < text.index("<h2>Delay over time")
    assert "What went wrong" not in text
    assert heading not in page(write_run(tmp_path / "other", [joined("dynamic").publish().notify()]))


def test_best_effort_has_its_interval_and_figures(tmp_path: Path) -> None:
    copy: dict[str, Any] = {"id": "P:1", "kind": "publish", "peer": "B2", "hops": 4}
    history = many("gossip", 0.6, "x-" * 20).add("B1", Event.RECEIVED, 110.02, **copy)
    text = page(write_run(tmp_path / "run", [history, joined("dynamic").publish().notify()]))
    row = text[text.index(">Delivery ratio<small>") :]
    assert row.index("50.0% <small>") < row.index("</td><td>–</td>") < row.index("</tr>")
    assert text.index("<h2>Delivery ratio by number of receivers</h2>") < text.index("<h2>Lengths of routes</h2>")
    other = page(write_run(tmp_path / "other", [joined("dynamic").publish().notify()]))
    assert "Lengths of routes" not in other
    assert "Delivery ratio" not in other


def test_detections_have_their_own_figures_and_examples(tmp_path: Path) -> None:
    text = page(write_run(tmp_path / "run", [pair("first").detect("P:1", "P:2", at=112.1), pair("second")]))
    assert "So did the expected detection of a composite subscription." in text
    assert "1 of 1 expected detection never arrived." in text
    assert "<td>detection lost</td><td>P:1 &amp; P:2 for c1</td><td>S</td>" in text
    assert (
        text.index("Detections expected") < text.index("<h2>Detection delay</h2>") < text.index("<h2>Traffic in, and")
    )
    plain = page(write_run(tmp_path / "other", [joined("dynamic").publish().notify()]))
    assert "etection" not in plain[plain.index("<header>") :]


def test_contents_lead_to_every_section(tmp_path: Path) -> None:
    text = page(write_run(tmp_path / "run", [joined("dynamic").publish("P:1", 110)]))
    headings = re.findall(r'<section id="([^"]+)">\s*<h2>([^<]+)</h2>', text)
    links = re.findall(r'<li><a href="#([^"]+)">([^<]+)</a></li>', text)
    assert len(links) > 5
    assert links == headings
    assert text.count("<h2>") == len(headings)


def test_the_page_states_what_was_compared_and_the_scenario(tmp_path: Path) -> None:
    run = write_run(tmp_path / "two", [joined(name).publish().notify() for name in ("fixed", "dynamic")])
    analyze(run, PlainEngine())
    data = read_report_data(run)
    for variant in data.run.variants:
        variant.settings = {"routing.publications": variant.name}
    text = render(data)
    assert "fixed: routing.publications fixed; dynamic: routing.publications dynamic" in text
    assert "<pre>{" in text
    assert "Compared" not in page(write_run(tmp_path / "one", [joined("dynamic").publish().notify()]))


def test_a_lost_notification_is_a_defect(tmp_path: Path) -> None:
    text = page(write_run(tmp_path / "run", [joined("dynamic").publish("P:1", 110)]))
    assert "What went wrong: dynamic" in text
    assert "Overtaken under" not in text


def test_each_check_is_a_row_and_each_variant_a_column(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", [joined("first"), joined("second")])

    def check(value: float, verdict: str) -> dict[str, object]:
        return {
            "name": "CPU busy", "value": value, "unit": "%", "limit": 85.0, "verdict": verdict,
            "detail": f"it is {value}",
        }  # fmt: skip

    variants = [
        {"name": "second", "verdict": "DEGRADED", "checks": [check(90.5, "DEGRADED")]},
        {"name": "first", "verdict": "VALID", "checks": [check(12.25, "VALID")]},
    ]
    (run / "fidelity.json").write_bytes(msgspec.json.encode({"verdict": "DEGRADED", "variants": variants}))
    text = page(run)
    assert text.count('CPU busy <span class="unit">%</span>') == 1
    first, second = text.index('title="it is 12.25">12.2'), text.index('title="it is 90.5">90.5')
    assert first < second < text.index('<span class="badge fair">DEGRADED</span>', second)


def _load_of(directory: Path, variant: str, publications: int) -> None:
    amounts = Amounts(
        advertisements=1, subscriptions=2, composites=0, withdrawals=0, publications=publications, publishers=1,
        subscribers=2,
    )  # fmt: skip
    load = Load(
        variant=variant,
        amounts=amounts,
        run_begins=1.0,
        course=Course(seconds=1.0, publications=[0, publications], changes=[3, 0]),
        busiest=1.0,
        publications_compared=publications,
        subscriptions_compared=2,
        sizes=Distribution(mean=40, p50=40, p95=40, most=40),
        matches=None,
        unmatched=0.0,
        selectivity=None,
        popularity=None,
    )
    (directory / LOADS).mkdir(exist_ok=True)
    write_json(directory / LOADS / f"{variant}.json", load)


def test_the_planned_load_is_one_column_where_variants_have_the_same(tmp_path: Path) -> None:
    variants = [joined(name).publish().notify() for name in ("fixed", "dynamic")]
    run = write_run(tmp_path / "run", variants)
    assert "The load, as planned" not in page(run)
    _load_of(run, "dynamic", 7)
    _load_of(run, "fixed", 7)
    assert page(run).count("7 in the mean, 7 at most  █") == 1
    _load_of(run, "fixed", 9)
    text = page(run)
    assert "7 in the mean, 7 at most" in text
    assert "9 in the mean, 9 at most" in text


def test_a_damaged_description_of_load_is_named(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", [joined("fixed").publish().notify()])
    analyze(run, PlainEngine())
    (run / LOADS).mkdir()
    (run / LOADS / "1.json").write_text('{"variant":')
    with pytest.raises(RunDirectoryError, match=r"workload/1\.json: Input data was truncated"):
        read_report_data(run)
