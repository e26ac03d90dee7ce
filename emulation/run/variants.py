"""Variants of a run, one after another, on whatever deployments they get."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace

from emulation.fidelity import Measurements
from emulation.planning.dilation import dilate
from emulation.planning.plan import Plan, VariantPlan
from emulation.planning.variant_record import new_variant
from emulation.run.context import RunContext, times_objects_settled
from emulation.run.deployment import Deployment
from emulation.run.directory import OverlayFiles
from emulation.run.interrupt import Interrupted
from emulation.run.variant import VariantRun
from record.errors import BrokerDefectError, HostError
from record.time_units import SECOND

Deploy = Callable[[VariantPlan, Measurements], AbstractContextManager[Deployment]]
"""Gives a dilated variant its deployment. The receiver starts it."""


@dataclass(frozen=True, slots=True)
class Turn:
    """A variant in the order of a run."""

    variant: VariantPlan
    number: int
    """Place of the variant in the run, from 1."""
    files: OverlayFiles
    left: float
    """Seconds that it and the variants after it are expected to take."""


def turns_of(plan: Plan, overlays: Sequence[OverlayFiles], *, around: float = 0.0) -> list[Turn]:
    """The variants of a plan in their order.

    `overlays` names the overlay files of each variant; `around` is the number of seconds that starting and stopping one
    is expected to take.
    """
    durations = [variant.lasts + around for variant in plan.variants]
    return [
        Turn(variant, number + 1, overlays[number], sum(durations[number:]))
        for number, variant in enumerate(plan.variants)
    ]


def run_variants(context: RunContext, turns: Iterable[Turn], deploy: Deploy) -> list[Measurements]:
    """Runs variants until all are done or the user interrupts."""
    measurements: list[Measurements] = []
    for number, turn in enumerate(turns):
        settled = times_objects_settled()
        try:
            _run(context, turn, deploy, measurements)
        except BrokerDefectError as defect:
            measurements[-1].defect = str(defect)
            context.cut_short(number)
            break
        except (Interrupted, HostError) as error:
            # Whatever asks for the end may have ended brokers, drivers and the network's helpers, too.
            if isinstance(error, HostError) and not context.interrupt.asked:
                raise
            context.manifest.interrupted = True
            context.cut_short(number)
            context.announce("interrupted: whatever ran has been ended in order")
            break
        if context.interrupt.asked:  # too late to end this variant early, which is whole; it is the last one
            context.manifest.interrupted = True
            context.cut_short(number + 1)
            context.announce("interrupted: the variant that ran was already ending, and is whole")
            break
        context.free_memory(settled)
    return measurements


def _run(context: RunContext, turn: Turn, deploy: Deploy, measurements: list[Measurements]) -> None:
    """Runs one variant, and adds its measurements before it begins."""
    variant, files = turn.variant, turn.files
    dilated = dilate(variant)
    measured = Measurements(variant=variant.name, time_dilation=variant.scenario.dilation)
    with deploy(dilated, measured) as deployment:
        record = new_variant(variant.name, variant.settings, variant.scenario)
        record.topology, record.underlay, record.movements = files.topology, files.underlay, files.movements
        record.sites = files.sites
        context.manifest.variants.append(record)
        measurements.append(measured)
        _show(context, turn, deployment)
        VariantRun(replace(context, clock=deployment.clock), dilated, deployment, record, measured).execute()
    # The display may read the clock until the next variant begins, and must not keep this one's network for that.
    ended = context.snapshot.clock()
    context.snapshot.clock = lambda: ended


def _show(context: RunContext, turn: Turn, deployment: Deployment) -> None:
    snapshot, clock = context.snapshot, deployment.clock
    snapshot.clock = lambda: clock() / SECOND
    snapshot.begin_variant(turn.variant.name, turn.number, snapshot.clock() + turn.left)
    snapshot.dilation = turn.variant.scenario.dilation
