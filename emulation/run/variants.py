"""All variants of a run, one after another, on whatever deployments they get."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace

from broker_service.errors import BrokerDefectError
from emulation.fidelity import Measurements
from emulation.network.model import NetworkError
from emulation.planning.dilation import dilate
from emulation.planning.plan import Plan, VariantPlan
from emulation.planning.variant_record import new_variant
from emulation.run.context import RunContext
from emulation.run.deployment import Deployment
from emulation.run.directory import OverlayFiles
from emulation.run.interrupt import Interrupted
from emulation.run.variant import VariantRun
from record.time_units import SECOND

Deploy = Callable[[VariantPlan, Measurements], AbstractContextManager[Deployment]]
"""Gives a dilated variant its deployment. The receiver starts it."""


def run_variants(
    context: RunContext, plan: Plan, overlays: Sequence[OverlayFiles], deploy: Deploy, *, around: float = 0.0
) -> list[Measurements]:
    """Runs the variants of a plan until all are done or the user interrupts.

    `overlays` names the overlay files of each variant; `around` is the number of seconds that starting and stopping one
    is expected to take.
    """
    measurements: list[Measurements] = []
    durations = [variant.lasts + around for variant in plan.variants]
    for number, variant in enumerate(plan.variants):
        dilated = dilate(variant)
        measured = Measurements(variant=variant.name, time_dilation=variant.scenario.time_dilation)
        try:
            with deploy(dilated, measured) as deployment:
                record = new_variant(variant.name, variant.settings, variant.scenario)
                files = overlays[number]
                record.topology, record.underlay, record.movements = files.topology, files.underlay, files.movements
                context.manifest.variants.append(record)
                measurements.append(measured)
                _show(context, variant, deployment, number + 1, sum(durations[number:]))
                VariantRun(replace(context, clock=deployment.clock), dilated, deployment, record, measured).execute()
        except BrokerDefectError as defect:
            measurements[-1].defect = str(defect)
            context.cut_short(number)
            break
        except (Interrupted, NetworkError) as error:
            # Ctrl-C on a terminal reaches the network's helpers too.
            if isinstance(error, NetworkError) and not context.interrupt.asked:
                raise
            context.manifest.interrupted = True
            context.cut_short(number)
            context.announce("interrupted: whatever ran has been ended in order")
            break
    return measurements


def _show(context: RunContext, variant: VariantPlan, deployment: Deployment, number: int, left: float) -> None:
    snapshot, clock = context.snapshot, deployment.clock
    snapshot.clock = lambda: clock() / SECOND
    snapshot.begin_variant(variant.name, number, snapshot.clock() + left)
    snapshot.dilation = variant.scenario.time_dilation
