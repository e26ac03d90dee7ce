"""The page: figures and sentences in one HTML file that opens without a network."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TypeVar

import plotly.graph_objects as go
from markupsafe import Markup
from msgspec import UNSET

from analysis.report.contents import Contents
from analysis.report.courses import courses_of
from analysis.report.data import ReportData
from analysis.report.embedding import embedded
from analysis.report.figures import composites
from analysis.report.figures.broker_load import BROKERS_SHOWN, busiest_brokers, busiest_share, load_figure
from analysis.report.figures.broker_messages import broker_messages_figure
from analysis.report.figures.buffers import buffers_figure, horizon_figure
from analysis.report.figures.burst_recovery import ranked
from analysis.report.figures.delay_budget import budget_figure, budget_over_time_figure
from analysis.report.figures.delay_penalty import penalty_figure
from analysis.report.figures.delays import distribution_figure
from analysis.report.figures.delivery_ratio import ratio_by_receivers_figure, route_lengths_figure
from analysis.report.figures.faults import fault_rows, shade_faults
from analysis.report.figures.fidelity import host_figure, link_delay_figure, link_error_figure, waits_figure
from analysis.report.figures.group_rates import rates_figure
from analysis.report.figures.join_points import join_points_over_time
from analysis.report.figures.motion import connectivity_figure, degree_figure
from analysis.report.figures.network_usage import usage_figure, usage_lines
from analysis.report.figures.queues import queue_figure
from analysis.report.figures.rates import client_rates_figure
from analysis.report.figures.router_work import HEADINGS, work_figure, work_of
from analysis.report.figures.starts import start_rows, starts_figure
from analysis.report.figures.style import colour
from analysis.report.figures.twin import twin_plots, twin_rows
from analysis.report.first_screen import compared_variants, drawings_of, first_screen
from analysis.report.offline_page import page_templates
from analysis.report.percentiles import PERCENTS
from analysis.report.replayed import replay_in_report
from analysis.report.runs_shown import RunsShown, runs_shown
from analysis.report.sentences.delivery import delivery_sentence, power_sentence
from analysis.report.sentences.fidelity import fidelity_sentences
from analysis.report.sentences.figures import beside
from analysis.report.sentences.load import loads_beside
from analysis.report.sentences.text import unbroken, with_code
from analysis.report.side_by_side import side_by_side
from analysis.script_data import compressed
from analysis.tables.broker_work import BrokerLoad
from analysis.tables.budget import BudgetOverTime
from analysis.tables.buffers import BufferSize
from analysis.tables.detections import DetectionFigures
from analysis.tables.motion import DegreeOverTime
from analysis.tables.summary import OVERTAKEN, UNKNOWN_FIDELITY, Example, Summary, VariantSummary
from analysis.tables.wording import milliseconds
from record.fidelity import Check, VariantFidelity
from record.files import REPORT
from record.manifest import PhaseName

WORST_LINKS_SHOWN = 12
_Row = TypeVar("_Row", BrokerLoad, BudgetOverTime, BufferSize, DegreeOverTime)


@dataclass(frozen=True)
class VariantView:
    """One variant, as the template shows it."""

    summary: VariantSummary
    colour: str
    delivery: str
    power: str
    fidelity: str
    fidelity_sentences: list[str]
    checks: VariantFidelity | None

    @property
    def defects(self) -> list[Example]:
        return [example for example in self.summary.delivery.examples if example.defect != OVERTAKEN]

    @property
    def detections(self) -> DetectionFigures | None:
        """Figures of detections; None in a variant without composite subscriptions."""
        found = self.summary.delivery.detections
        return None if found is UNSET else found

    @property
    def budget(self) -> str:
        """The parts of the mean delay in words; empty where they are not known."""
        delay = self.summary.delay
        return "" if delay.budget is UNSET else delay.budget.in_words(delay.notifications)

    @property
    def overtaken(self) -> list[Example]:
        """Examples of notifications that arrived out of order where routing does not promise order: not defects."""
        return [example for example in self.summary.delivery.examples if example.defect == OVERTAKEN]


@dataclass(frozen=True)
class CheckRow:
    """One check on the emulation, in all variants."""

    variants: list[Check | None]
    """The check in each variant, in their order; None where it was not made."""

    @property
    def first(self) -> Check:
        return next(check for check in self.variants if check is not None)


@dataclass(frozen=True)
class LabelRow:
    """Messages of one kind and label in one variant, as the template shows them."""

    variant: str
    kind: str
    label: str
    sent: int
    sent_bytes: int


@dataclass(frozen=True)
class LinkRow:
    """A probed link direction, as the template shows it. Milliseconds, Mbit/s."""

    variant: str
    ends: str
    phase: str
    delay: str
    error: float
    rate: str
    ok: bool


def render(data: ReportData) -> str:
    """The whole page of a run as text."""
    return _page(data, runs_shown([data], data.directory / REPORT))


def render_several(runs: Sequence[ReportData], file: Path) -> str:
    """One whole page for several runs as text, which is to be written to a file."""
    return _page(side_by_side(runs), runs_shown(runs, file))


def _page(data: ReportData, shown: RunsShown) -> str:
    """The whole page as text; `data` is that of all runs that are shown."""
    variants = data.variants
    courses, drawings = courses_of(data), drawings_of(data)
    compared = composites.compared_placements(data.placements)
    templates = page_templates()
    templates.filters.update(
        beside=beside, compressed=_compressed, with_code=with_code, milliseconds=milliseconds, unbroken=unbroken
    )
    return templates.get_template("report.html.j2").render(
        data=data,
        contents=Contents(),
        shown=shown,
        first=first_screen(data, courses[0], drawings),
        courses=[(course, embedded(course.figure, course.name)) for course in courses[1:]],
        drawings=[drawing for drawing in drawings if drawing.variant not in compared_variants(data)],
        variants=[_view(data, variant, index) for index, variant in enumerate(data.summary.variants)],
        limits=any(variant.limits for variant in data.summary.variants),
        recoveries=ranked(data.burst_recoveries),
        work=_work_plots(data.summary),
        dilated=any(variant.time_dilation != 1 for variant in data.run.variants),
        replay=replay_in_report(data),
        group_rates=_group_rate_plots(data),
        buffers=_plots_by_variant(data, data.buffers, buffers_figure, "buffers"),
        horizon=embedded(horizon_figure(data.buffers, variants), "horizon") if data.buffers else Markup(""),
        starts=embedded(starts_figure(data.starts, variants), "starts") if data.starts else Markup(""),
        start_rows=start_rows(data.starts, variants),
        best_effort=_best_effort_plots(data),
        connectivity=_connectivity_plot(data),
        degrees=_plots_by_variant(data, data.degrees, degree_figure, "degrees"),
        faults=fault_rows(data.faults, data.run_starts),
        composites=_composite_plots(data),
        placements=data.placements,
        sites=any(shown.overlay is not None and shown.overlay.sites for shown in data.replayed.values()),
        compared=compared,
        cardinality=embedded(composites.cardinality_figure(compared, variants), "cardinality"),
        rates=_rates_plot(data),
        planned_loads=loads_beside(data.planned_loads),
        distribution=embedded(distribution_figure(data.distribution, variants, data.percentiles), "delay-distribution"),
        percents=PERCENTS,
        budget=embedded(budget_figure(data.budget, variants), "delay-budget") if data.budget else Markup(""),
        budgets=_plots_by_variant(data, data.budget_over_time, budget_over_time_figure, "delay-budget-over-time"),
        penalties=data.delay_penalties,
        penalty=embedded(penalty_figure(data.delay_penalties, variants), "delay-penalty"),
        usage=_usage_plot(data),
        messages=embedded(broker_messages_figure(data.messages, variants), "broker-messages"),
        labels=_labels(data),
        loads=_load_plots(data),
        brokers_shown=BROKERS_SHOWN,
        queues=embedded(queue_figure(data.queues, variants), "queues"),
        ever_best_effort=any(variant.delivery.best_effort is not UNSET for variant in data.summary.variants),
        ever_optional=any(variant.delivery.optional or variant.delivery.excused for variant in data.summary.variants),
        brokers_log=any(variant.brokers_log for variant in data.summary.variants),
        sampled=any(variant.sampled_logs is not UNSET for variant in data.summary.variants),
        ever_waited=any(row.queue for row in data.queues),
        checks=_check_rows(data),
        faithful=_fidelity_plots(data, variants),
        link_delays=embedded(link_delay_figure(data.fidelity, variants), "link-delays"),
        links=_links(data),
        worst_links=WORST_LINKS_SHOWN,
        twin_rows=[] if data.twin is None else twin_rows(data.twin.comparison),
        twin_plots=_twin_plots(data),
    )


def _compressed(part: Markup) -> Markup:
    """A part of the page that is unpacked when somebody opens it."""
    return compressed(part.encode())


def _view(data: ReportData, variant: VariantSummary, index: int) -> VariantView:
    name = variant.name
    fidelity = data.fidelity.get(name)
    return VariantView(
        summary=variant,
        colour=colour(index),
        delivery=delivery_sentence(variant.delivery),
        power=power_sentence(variant.delivery),
        fidelity=fidelity.verdict if fidelity else UNKNOWN_FIDELITY,
        fidelity_sentences=fidelity_sentences(fidelity, variant.delivery.verdicts),
        checks=fidelity,
    )


def _composite_plots(data: ReportData) -> list[tuple[str, str, Markup]]:
    """Heading, explanation and plot of each figure of composite subscriptions; empty for a run without any."""
    if all(variant.delivery.detections is UNSET for variant in data.summary.variants):
        return []
    delays = distribution_figure(data.detection_delays, data.variants)
    traffic = composites.filtered_figure(data.messages, data.variants)
    return [
        *_join_points_over_time(data),
        (
            "Detection delay",
            "From the time at which the last publication of a set was due to the first notification of the set.",
            embedded(delays, "detection-delays"),
        ),
        (
            "Traffic in, and filtered",
            "Publications and detections that arrived at each broker, and those that went on from there to no "
            "neighbour and no client: what completes nothing ends where detections are made. What a broker passes on "
            "to several receivers hides as much that ends there.",
            embedded(traffic, "filtered-traffic"),
        ),
    ]


def _join_points_over_time(data: ReportData) -> list[tuple[str, str, Markup]]:
    """The figure of join points over time; empty for a run that routes no composite subscriptions as units."""
    if not data.placements:
        return []
    end = max((row.end_s for row in data.phases if row.phase != PhaseName.STOP), default=0.0)
    return [
        (
            "Join points over time",
            "The broker at which each composite subscription was detected. Where two bars overlap, the unit was "
            "moving. At most 20 composite subscriptions are shown, those that had most join points.",
            embedded(join_points_over_time(data.placements, data.variants, end), "join-points"),
        )
    ]


def _group_rate_plots(data: ReportData) -> list[tuple[str, Markup]]:
    """Name and rates of each variant whose subscribers are in groups, its faults shaded."""
    plots = []
    for number, rates in enumerate(data.group_rates):
        figure = rates_figure(rates)
        own = [fault for fault in data.faults if fault.variant == rates.variant]
        shade_faults(figure, own, data.run_starts, float(max(map(len, rates.counts), default=0)))
        plots.append((rates.variant, embedded(figure, f"group-rates-{number}")))
    return plots


def _plots_by_variant(
    data: ReportData, rows: Sequence[_Row], draw: Callable[[list[_Row]], go.Figure], name: str
) -> list[tuple[str, Markup]]:
    """Name and figure of each variant that has rows. The ids of the figures begin with `name`."""
    found = [(variant, [row for row in rows if row.variant == variant]) for variant in data.variants]
    return [(variant, embedded(draw(own), f"{name}-{number}")) for number, (variant, own) in enumerate(found) if own]


def _load_plots(data: ReportData) -> list[tuple[str, Markup]]:
    draw = partial(load_figure, most=busiest_share(data.load), shown=busiest_brokers(data.load))
    return _plots_by_variant(data, data.load, draw, "load")


def _rates_plot(data: ReportData) -> Markup:
    """Empty for a run whose logs are elsewhere."""
    if not data.notable.rates:
        return Markup("")
    figure = client_rates_figure(data.notable.rates, data.variants)
    shade_faults(figure, data.faults, data.run_starts, max((row.end_s for row in data.phases), default=0.0))
    return embedded(figure, "client-rates")


def _best_effort_plots(data: ReportData) -> list[tuple[str, str, Markup]]:
    """Heading, explanation and plot of the figures of best-effort protocols that the run has rows for."""
    by_receivers = ratio_by_receivers_figure(data.receivers, data.variants)
    routes = route_lengths_figure(data.routes, data.variants)
    plots = [
        (
            "Delivery ratio by number of receivers",
            "Share of the due notifications that came, of the publications that were due to equally many clients.",
            by_receivers,
        ),
        (
            "Lengths of routes",
            "Copies of publications by the links that they had travelled when they arrived at a broker. Dotted: those "
            "that ended there, because the broker had received the publication before.",
            routes,
        ),
    ]
    return [
        (heading, note, embedded(figure, f"best-effort-{number}"))
        for number, (heading, note, figure) in enumerate(plots)
        if figure.data
    ]


def _usage_plot(data: ReportData) -> Markup:
    """Empty for a run that is over no network of routers, or without a delivery to another broker."""
    lines = usage_lines(data.network_usage, data.run.variants, data.overlays)
    return embedded(usage_figure(lines), "network-usage") if lines else Markup("")


def _connectivity_plot(data: ReportData) -> Markup:
    """Empty for a run whose overlays stayed as they were."""
    if not data.connectivity:
        return Markup("")
    return embedded(connectivity_figure(data.connectivity, data.variants), "connectivity")


def _work_plots(summary: Summary) -> list[tuple[str, Markup]]:
    """Heading and plot of each kind of router work that was measured in any variant."""
    return [
        (heading, embedded(work_figure(summary.variants, work), f"work-{number}"))
        for number, (work, heading) in enumerate(HEADINGS.items())
        if any(work_of(variant, work) for variant in summary.variants)
    ]


def _labels(data: ReportData) -> list[LabelRow]:
    """Messages sent over links by variant, kind and label; the most frequent label of a variant comes first."""
    sums: dict[tuple[str, str, str], tuple[int, int]] = {}
    for row in data.labels:
        key = row.variant, row.kind, row.label
        sent, sent_bytes = sums.get(key, (0, 0))
        sums[key] = sent + row.sent, sent_bytes + row.sent_bytes
    rows = [LabelRow(*key, *amounts) for key, amounts in sums.items()]
    return sorted(rows, key=lambda row: (data.variants.index(row.variant), -row.sent, row.kind, row.label))


def _check_rows(data: ReportData) -> list[CheckRow]:
    """One row for each check that was made in any variant."""
    made = [found.checks if (found := data.fidelity.get(name)) else [] for name in data.variants]
    names = dict.fromkeys(check.name for checks in made for check in checks)
    return [
        CheckRow([next((check for check in checks if check.name == name), None) for checks in made]) for name in names
    ]


def _fidelity_plots(data: ReportData, variants: list[str]) -> list[tuple[str, Markup]]:
    """Heading and plot of everything that was measured; empty for a simulated run."""
    found = data.fidelity
    links = any(variant.links for variant in found.values())
    samples = any(variant.samples for variant in found.values())
    plots = [
        ("Error of the links' delay under load", link_error_figure, links),
        ("The host over time", host_figure, samples),
        ("Waits for the CPU over time", waits_figure, samples),
    ]
    return [
        (heading, embedded(draw(found, variants), f"fidelity-{number}"))
        for number, (heading, draw, measured) in enumerate(plots)
        if measured
    ]


def _twin_plots(data: ReportData) -> list[tuple[str, Markup]]:
    """Heading and plot of each figure of the simulated twin; empty for a run without one."""
    if data.twin is None:
        return []
    plots = twin_plots(data.twin.comparison, data.distribution, data.twin.distribution)
    return [(heading, embedded(figure, f"twin-{number}")) for number, (heading, figure) in enumerate(plots)]


def _links(data: ReportData) -> list[LinkRow]:
    """Every probed link direction: those that missed a limit first, then by the error of the delay, largest first."""
    rows = [
        LinkRow(
            variant=variant.name,
            ends=f"{probe.a} → {probe.b}",
            phase=probe.phase,
            delay=f"{probe.delay_asked * 1e3:.2f} / {probe.delay_measured * 1e3:.2f}",
            error=abs(probe.delay_measured - probe.delay_asked) * 1e3,
            rate="" if not probe.rate_asked else f"{probe.rate_asked / 1e6:g} / {_rate(probe.rate_measured)}",
            ok=probe.ok,
        )
        for variant in data.fidelity.values()
        for probe in variant.links
        if probe.delay_measured is not None
    ]
    return sorted(rows, key=lambda row: (row.ok, -row.error))


def _rate(measured: float | None) -> str:
    return "–" if measured is None else f"{measured / 1e6:.2f}"
