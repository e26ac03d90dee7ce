"""Several analysed runs in one report: their variants beside each other, as those of one run are.

The only variant of a run is called after the run; others keep their names where no two runs have one of the same name.
Runs are judged apart, so nothing is compared over them here: `analysis.compare` does that, by publications that both
have.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeVar

import msgspec

from analysis.report.data import ReportData
from analysis.report.notable import Notable
from analysis.run_files.logs import LogLoss
from analysis.tables.summary import CORRECT, Summary
from record.fidelity import FidelityVerdict, worst
from record.manifest import Manifest

_Value = TypeVar("_Value")
Names = Mapping[str, str]
"""The name of each variant of a run in the report."""


def run_labels(runs: Sequence[Manifest]) -> list[str]:
    """Short names of runs, each of its own: the scenario's where no other run is of it, with the end of the id else."""
    scenarios = [str(run.scenario.get("name", run.run_id)) for run in runs]
    often = Counter(scenarios)
    labels = [
        name if often[name] == 1 else f"{name} {run.run_id.rpartition('-')[2]}"
        for name, run in zip(scenarios, runs, strict=True)
    ]
    return labels if len(set(labels)) == len(labels) else [run.run_id for run in runs]


def side_by_side(runs: Sequence[ReportData]) -> ReportData:
    """The data of one page for several runs. A simulated twin stays on the page of its run."""
    labels = run_labels([run.run for run in runs])
    often = Counter(name for run in runs for name in run.variants)
    renamed = [
        _renamed(run, {name: _name(label, run, name, often) for name in run.variants})
        for label, run in zip(labels, runs, strict=True)
    ]
    first = renamed[0]
    rows = {
        field.name: [row for run in renamed for row in getattr(run, field.name)]
        for field in dataclasses.fields(first)
        if isinstance(getattr(first, field.name), list)
    }
    joined: dict[str, Any] = rows | {
        "run": _joined_manifest([run.run for run in renamed]),
        "summary": _joined_summary([run.summary for run in renamed]),
        "overlays": _merged(run.overlays for run in renamed),
        "fidelity": _merged(run.fidelity for run in renamed),
        "replayed": _merged(run.replayed for run in renamed),
        "percentiles": [found for run in renamed for found in run.percentiles],
        "notable": _joined_notable([run.notable for run in renamed]),
        "twin": None,
    }
    return dataclasses.replace(first, **joined)


def _name(label: str, run: ReportData, variant: str, often: Counter[str]) -> str:
    if len(run.variants) == 1:
        return label
    return variant if often[variant] == 1 else f"{label} {variant}"


def _renamed(run: ReportData, names: Names) -> ReportData:
    """The data of a run with other names of its variants."""
    rows = {
        field.name: [_row(row, names) for row in getattr(run, field.name)]
        for field in dataclasses.fields(run)
        if isinstance(getattr(run, field.name), list)
    }
    variants = [
        msgspec.structs.replace(
            variant, name=names[variant.name], faults=[_row(fault, names) for fault in variant.faults]
        )
        for variant in run.summary.variants
    ]
    records = [msgspec.structs.replace(record, name=names[record.name]) for record in run.run.variants]
    notable = run.notable
    changed: dict[str, Any] = rows | {
        "run": msgspec.structs.replace(run.run, variants=records),
        "summary": msgspec.structs.replace(run.summary, variants=variants),
        "overlays": _by_new_name(run.overlays, names),
        "fidelity": {
            names[name]: msgspec.structs.replace(found, name=names[name]) for name, found in run.fidelity.items()
        },
        "replayed": _by_new_name(run.replayed, names),
        "percentiles": [_row(row, names) for row in run.percentiles],
        "notable": Notable(
            defects=[dataclasses.replace(found, wanted=_row(found.wanted, names)) for found in notable.defects],
            slowest=[dataclasses.replace(found, wanted=_row(found.wanted, names)) for found in notable.slowest],
            journeys={_row(wanted, names): told for wanted, told in notable.journeys.items()},
            rates=[_row(rate, names) for rate in notable.rates],
            worst=notable.worst,
        ),
    }
    return dataclasses.replace(run, **changed)


def _row(row: _Value, names: Names) -> _Value:
    """A row of a table with the new name of its variant."""
    changed = {"variant": names[row.variant]}  # type: ignore[attr-defined]
    if isinstance(row, msgspec.Struct):
        return msgspec.structs.replace(row, **changed)
    return dataclasses.replace(row, **changed)  # type: ignore[type-var]


def _by_new_name(found: Mapping[str, _Value], names: Names) -> dict[str, _Value]:
    return {names[name]: value for name, value in found.items()}


def _merged(mappings: Iterable[Mapping[str, _Value]]) -> dict[str, _Value]:
    return {name: value for mapping in mappings for name, value in mapping.items()}


def _joined_manifest(runs: Sequence[Manifest]) -> Manifest:
    """A manifest for all variants; what it says of the rest is that of the first run on real brokers."""
    told = next((run for run in runs if run.runtime.name != "simulated"), runs[0])
    return msgspec.structs.replace(
        told,
        interrupted=any(run.interrupted for run in runs),
        variants=[record for run in runs for record in run.variants],
    )


def _joined_summary(summaries: Sequence[Summary]) -> Summary:
    verdicts = dict.fromkeys(verdict for summary in summaries for verdict in summary.delivery)
    wrong = [verdict for verdict in verdicts if verdict != CORRECT]
    known = [summary.fidelity for summary in summaries]
    judged = {verdict.value for verdict in FidelityVerdict}
    unknown = next((fidelity for fidelity in known if fidelity not in judged), None)
    return Summary(
        run_id=summaries[0].run_id,
        delivery=wrong or [CORRECT],
        fidelity=unknown or worst(FidelityVerdict(fidelity) for fidelity in known).value,
        interrupted=any(summary.interrupted for summary in summaries),
        logs=_joined_losses([summary.logs for summary in summaries]),
        variants=[variant for summary in summaries for variant in summary.variants],
        comparison=None,
    )


def _joined_losses(losses: Sequence[LogLoss]) -> LogLoss:
    missing = [broker for loss in losses if loss.missing is not msgspec.UNSET for broker in loss.missing]
    return LogLoss(
        records=sum(loss.records for loss in losses),
        torn=sum(loss.torn for loss in losses),
        malformed=sum(loss.malformed for loss in losses),
        missing=missing or msgspec.UNSET,
    )


def _joined_notable(found: Sequence[Notable]) -> Notable:
    return Notable(
        defects=[defect for notable in found for defect in notable.defects],
        slowest=[slow for notable in found for slow in notable.slowest],
        journeys={wanted: told for notable in found for wanted, told in notable.journeys.items()},
        rates=[rate for notable in found for rate in notable.rates],
        worst=[file for notable in found for file in notable.worst],
    )
