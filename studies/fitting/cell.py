"""The cells of a fit: a figure of the paper with a candidate's assumptions, one seed and fixed routing."""

from __future__ import annotations

import enum
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from statistics import fmean

from analysis.claims.measured_run import MeasuredRun, MeasuredVariant, open_measured
from analysis.claims.papers.tid import GROWTH, at_distance, growth, queueing_share_of, steady
from analysis.tables.deliveries import Notification
from analysis.tables.summary import Summary
from broker_service.messages import Kind
from emulation.planning.calibration import Calibration
from emulation.planning.plan import Plan
from emulation.run.directory import RunOutcome
from emulation.simulation.run import simulate
from scenario.loading import load
from scenario.yaml_files.source import as_yaml
from studies.cells import Cell, CellResult
from studies.fitting.candidates import OVERLAYS, Candidate
from studies.fitting.stated import Given
from studies.reproduction.plan import SCENARIOS

FASTEST = 2400
"""Publications a minute of each publisher in Fig. 5(c)."""
_SHORT = {"timeline.run": "5s", "vary.routing.publications": "[fixed]"}
"""Settings of all cells: fixed routing alone, and a run phase long enough to judge the growth of delays."""


class Figure(enum.StrEnum):
    """The figures that are simulated, by their scenarios."""

    FIGURE_5A = "tid-5a"
    TABLE_3 = "tid-t3"
    FIGURE_5C = "tid-5c"


class FigureResult(CellResult, frozen=True, kw_only=True):
    """The counterparts of the numbers that one figure gives."""

    given: Given


@dataclass(frozen=True, slots=True, kw_only=True)
class FigureCell(Cell[FigureResult]):
    """One figure of a candidate with one seed."""

    study = "fitting"

    candidate: Candidate
    figure: Figure
    seed: int

    @classmethod
    def of(cls, candidate: Candidate, figure: Figure, seed: int) -> FigureCell:
        numbers = "-".join(f"{getattr(candidate, name):.6g}" for name in candidate.__struct_fields__[1:])
        overlay = candidate.overlay.replace(",", "").replace(" ", "_")
        return cls(
            key=f"{overlay}-{numbers}-{figure}-{seed}",
            scenario=_scenario(candidate, figure, seed),
            candidate=candidate,
            figure=figure,
            seed=seed,
        )

    def simulate(self, plan: Plan, directory: Path) -> RunOutcome:
        """Runs the plan in virtual time, in which brokers' work takes the service time of the candidate alone."""
        return simulate(plan, directory, calibration=Calibration.free())

    def read(self, outcome: RunOutcome, summary: Summary, runtime: str) -> FigureResult:
        """The counterparts of the numbers that the figure gives."""
        return FigureResult(
            fingerprint=self.fingerprint,
            runtime=runtime,
            delivery=summary.delivery,
            fidelity=summary.fidelity,
            given=_GIVEN_BY[self.figure](open_measured(outcome.directory)),
        )


@cache
def _scenario(candidate: Candidate, figure: Figure, seed: int) -> str:
    overlay = OVERLAYS[candidate.overlay]
    settings = candidate.settings(overlay.distances if figure is Figure.TABLE_3 else overlay.topology)
    rate = FASTEST if figure is Figure.FIGURE_5C else candidate.rate
    settings |= {"workload.publications.rate": f"{rate:.0f}/min", "seed": str(seed), **_SHORT}
    if figure is Figure.TABLE_3:
        settings["workload.publications.individually"] = overlay.publishers
        settings["workload.subscriptions.followers"] = overlay.followers
    scenario = load(SCENARIOS / "tid" / f"{figure}.yaml", settings)
    return as_yaml(scenario.resolved())


def _by_figure_5a(run: MeasuredRun) -> Given:
    fixed = run.of("fixed")
    use = processor_use(fixed)
    busiest = max(use, key=lambda broker: use[broker])
    neighbours = Counter(end for link in fixed.overlay.links for end in (link.a, link.b))
    publications = [row for row in fixed.messages if row.kind == Kind.PUBLISH.word]
    calm = growth(fixed)
    return Given(
        messages=sum(row.received + row.from_clients for row in publications)
        / sum(row.from_clients for row in publications),
        queue_share=queueing_share_of(run, fixed),
        busiest=use[busiest],
        others=fmean(share for broker, share in use.items() if broker != busiest),
        hub_is_busiest=neighbours[busiest] == max(neighbours.values()),
        stable=calm is not None and calm <= GROWTH,
    )


def _by_table_3(run: MeasuredRun) -> Given:
    table = run.of("fixed")
    delays = at_distance(table, steady(table), (6, 10, 12))
    return Given(delay_6=_mean_delay(delays[6]), delay_10=_mean_delay(delays[10]), delay_12=_mean_delay(delays[12]))


def _by_figure_5c(run: MeasuredRun) -> Given:
    hurried = growth(run.of("fixed"))
    return Given(overloads=hurried is not None and hurried > GROWTH)


_GIVEN_BY = {Figure.FIGURE_5A: _by_figure_5a, Figure.TABLE_3: _by_table_3, Figure.FIGURE_5C: _by_figure_5c}


def processor_use(variant: MeasuredVariant) -> Mapping[str, float]:
    """Mean share of the phase `run` in which each broker was busy."""
    seconds: dict[str, list[float]] = {}
    for row in variant.loads:
        seconds.setdefault(row.broker, []).append(row.processor)
    return {broker: fmean(shares) for broker, shares in seconds.items()}


def _mean_delay(rows: list[Notification]) -> float | None:
    return fmean(row.delay_ms or 0.0 for row in rows) if rows else None
