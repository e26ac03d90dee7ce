"""One trial: a candidate simulated with one seed and fixed routing, and its counterparts of the stated numbers."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from tempfile import TemporaryDirectory

import msgspec

from analysis.claims.measured_run import MeasuredRun, MeasuredVariant, open_measured
from analysis.claims.papers.tid import GROWTH, at_distance, growth, queueing_share_of, steady
from analysis.engines import PlainEngine
from analysis.pipeline import analyze
from analysis.tables.deliveries import Notification
from broker_service.messages import Kind
from emulation.planning.calibration import Calibration
from emulation.planning.plan import make_plan
from emulation.simulation.run import simulate
from record.files import replace_file
from scenario.loading import load
from studies.fitting.candidates import OVERLAYS, Candidate
from studies.fitting.stated import Given, cost
from studies.reproduction.plan import SCENARIOS

FASTEST = 2400
"""Publications a minute of each publisher in Fig. 5(c)."""
_SHORT = {"timeline.run": "5s", "vary.routing.publications": "[fixed]"}
"""Settings of all runs of a trial: fixed routing alone, and a run phase long enough to judge the growth of delays."""


@dataclass(frozen=True, slots=True)
class Trial:
    """A candidate with one seed, and the file of its results."""

    candidate: Candidate
    seed: int
    file: Path
    hopeless: float = math.inf
    """Loss of the numbers of Fig. 5(a) from which on the other figures are not simulated."""


class TrialResult(msgspec.Struct, frozen=True, kw_only=True):
    candidate: Candidate
    seed: int
    given: Given


def conduct(trial: Trial) -> None:
    """Simulates the figures and writes the `TrialResult`. For a worker process.

    Table 3 and Fig. 5(c) are left out where the numbers of Fig. 5(a) alone cost more than is hopeless.
    """
    candidate, overlay = trial.candidate, OVERLAYS[trial.candidate.overlay]
    seed = {"seed": str(trial.seed)}
    common = {**candidate.settings(overlay.topology), **seed}
    apart = {
        **candidate.settings(overlay.distances),
        **seed,
        "workload.publications.individually": overlay.publishers,
        "workload.subscriptions.followers": overlay.followers,
    }
    with TemporaryDirectory(prefix="brokerlab-fit-") as directory:
        main = _fixed("tid-5a", {**common, **_rate(candidate.rate)}, Path(directory))
        given = _of_figure_5a(main)
        if cost([given]) <= trial.hopeless:
            table = _fixed("tid-t3", {**apart, **_rate(candidate.rate)}, Path(directory)).of("fixed")
            fast = _fixed("tid-5c", {**common, **_rate(FASTEST)}, Path(directory)).of("fixed")
            given = _with_table_3(given, table, fast)
    result = TrialResult(candidate=candidate, seed=trial.seed, given=given)
    replace_file(trial.file, msgspec.json.encode(result))


def read_result(file: Path) -> TrialResult:
    return msgspec.json.decode(file.read_bytes(), type=TrialResult)


def _rate(rate: float) -> Mapping[str, str]:
    return {"workload.publications.rate": f"{rate:.0f}/min"}


def _fixed(scenario: str, settings: Mapping[str, str], directory: Path) -> MeasuredRun:
    plan = make_plan(load(SCENARIOS / "tid" / f"{scenario}.yaml", {**settings, **_SHORT}))
    outcome = simulate(plan, directory, calibration=Calibration.free())
    analyze(outcome.directory, PlainEngine())
    return open_measured(outcome.directory)


def _of_figure_5a(run: MeasuredRun) -> Given:
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


def _with_table_3(given: Given, table: MeasuredVariant, fast: MeasuredVariant) -> Given:
    delays = at_distance(table, steady(table), (6, 10, 12))
    hurried = growth(fast)
    return msgspec.structs.replace(
        given,
        delay_6=_mean_delay(delays[6]),
        delay_10=_mean_delay(delays[10]),
        delay_12=_mean_delay(delays[12]),
        overloads=hurried is not None and hurried > GROWTH,
    )


def processor_use(variant: MeasuredVariant) -> Mapping[str, float]:
    """Mean share of the phase `run` in which each broker was busy."""
    seconds: dict[str, list[float]] = {}
    for row in variant.loads:
        seconds.setdefault(row.broker, []).append(row.processor)
    return {broker: fmean(shares) for broker, shares in seconds.items()}


def _mean_delay(rows: list[Notification]) -> float | None:
    return fmean(row.delay_ms or 0.0 for row in rows) if rows else None
