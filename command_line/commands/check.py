"""`brokerlab check`: whether a scenario is valid, what its run will do, and what it will take of this host."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from rich.console import Console

from command_line.commands.answers import IN_WORDS, Answer
from command_line.commands.progress import shown_progress
from emulation.host.loop_times import loop_times
from emulation.host.room import Host, this_host
from emulation.network.model import LinkDriver
from emulation.planning.calibration import load_calibration
from emulation.planning.carrying import require_carried
from emulation.planning.plan import Plan, make_plan
from emulation.prediction.predict import MOST_CONTENTION, VariantPrediction, predict
from emulation.runtimes.parts_here import require_parts
from record.errors import HostError
from record.exit_codes import ExitCode
from record.wording import count_of
from scenario.loading import load
from scenario.shipped import file_of

_SHOWN_BUSY = 2.0
"""Load of the processors from which on its number says no more than that it is too much."""


@dataclass(frozen=True, slots=True)
class CheckRequest:
    """The user's request."""

    scenario: Path
    overrides: Mapping[str, str]
    calibration: Path | None
    """Costs of brokers and host; the shipped file by default."""
    processors: int | None
    """Processors of the host that is asked about; those of this host by default."""


def check_scenario(request: CheckRequest, answer: Answer = IN_WORDS) -> ExitCode:
    """Checks, rehearses and predicts. Raises `UserError`s."""
    console = answer.console
    plan = make_plan(load(file_of(request.scenario, "scenario"), request.overrides))
    costs, here = load_calibration(request.calibration), this_host()
    host = Host(request.processors or here.processors, here.memory)
    own = ["brokers of your own"] if any(variant.foreign is not None for variant in plan.variants) else []
    own += ["client programs"] if any(variant.programs for variant in plan.variants) else []
    predictions: list[VariantPrediction] = []
    _print(console, _planned(plan))
    if own:
        _print(console, [f"load     not predicted: {' and '.join(own)} cannot be rehearsed in virtual time"])
    else:
        with shown_progress(console, "rehearsing the load in virtual time") as show:
            predictions = predict(plan, costs.on(loop_times()), host, show)
        _print(console, _predicted(predictions, host))
    refused = ""
    try:
        require_parts(
            chain.from_iterable(variant.every_resources for variant in plan.variants),
            chain.from_iterable(variant.programs.items() for variant in plan.variants),
        )
        require_carried(plan.variants, LinkDriver.USERSPACE, host)
    except HostError as error:
        refused = str(error)
        _print(console, [f"refused  {error}"])
    variants = [variant.name for variant in plan.variants]
    answer.document(
        {"scenario": plan.scenario.name, "variants": variants, "predictions": predictions, "refused": refused}
    )
    return ExitCode.HOST if refused else ExitCode.CORRECT


def _print(console: Console, lines: Iterable[str]) -> None:
    for line in lines:
        console.print(line, markup=False, soft_wrap=True)


def _planned(plan: Plan) -> Iterator[str]:
    """The plan of a run."""
    first = plan.variants[0]
    names = ", ".join(variant.name for variant in plan.variants)
    overlay, clients = first.overlay, len(first.workload.clients)
    links = count_of(len(overlay.links), "link")
    count = count_of(len(plan.variants), "variant")
    yield f"scenario {plan.scenario.name}: valid; {count}: {names}"
    yield f"overlay  {count_of(len(overlay.brokers), 'broker')}, {links}, {count_of(clients, 'client')}"
    yield f"workload {count_of(first.workload.publications, 'publication')} in {first.scenario.timeline.run:g} s"


def _predicted(predictions: list[VariantPrediction], host: Host) -> Iterator[str]:
    """The prediction, and the dilation for all variants alike."""
    for found in predictions:
        yield f"\n{found.name}"
        yield f"  processors {_busy(found)}"
        yield f"  memory     {found.memory / 1e9:.1f} GB of {host.memory / 1e9:.1f} GB"
        yield f"  contention {_contention(found)}"
        yield f"  logs       {count_of(found.records, 'record')}"
    needed = max(found.least.dilation for found in predictions)
    seconds = sum(found.seconds for found in predictions)
    analysis = sum(found.analysis for found in predictions)
    yield f"\ntakes    {_time(seconds)} for the run, {_time(analysis)} for the analysis"
    yield _advice(predictions, needed)


def _busy(found: VariantPrediction) -> str:
    share = found.load.processors
    return f"{share:.0%} busy" if share < _SHOWN_BUSY else f"{share:.0%} wanted, far more than there is"


def _contention(found: VariantPrediction) -> str:
    load = found.load
    if math.isnan(load.delay):
        return "not known, because no notification came in the rehearsal"
    if load.processors >= 1:
        return "grows as long as the load lasts, because processors have more work than time"
    return f"{load.share:.0%} of a mean delay of {load.delay * 1e3:.1f} ms"


def _advice(predictions: list[VariantPrediction], needed: float) -> str:
    if all(found.load.carried for found in predictions):
        return "carried  as it is, with nothing else on the host"
    if not all(found.least.carried for found in predictions):
        return f"too much even at a dilation of {needed:g}: use --runtime simulated, or several hosts (--hosts)"
    return (
        f"dilation --set time_dilation={needed:g} for all variants keeps contention below {MOST_CONTENTION:.0%} of the "
        f"delay; brokers' own work and platform then look {1 - 1 / needed:.0%} smaller"
    )


def _time(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"
