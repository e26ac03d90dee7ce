"""A whole run: every variant in turn, from an untouched host back to an untouched host."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

from msgspec import UNSET, UnsetType
from rich.console import Console

from emulation.fidelity import Measurements, judge
from emulation.held.hold import Hold
from emulation.held.server import served
from emulation.host import provenance
from emulation.host.journaled_runs import journaled
from emulation.host.loop_times import loop_times
from emulation.host.room import this_host
from emulation.host.run_paths import RunPaths
from emulation.network.model import NetworkError
from emulation.planning.calibration import Calibration, charged_costs, load_calibration
from emulation.planning.carrying import require_carried
from emulation.planning.plan import Plan, VariantPlan
from emulation.run.context import HostRunContext, open_log
from emulation.run.directory import RunOutcome, conclude, full_disk_in_words, save_overlays, write_manifest
from emulation.run.host_deployment import HostDeployment
from emulation.run.host_share import HostShare
from emulation.run.interrupt import Interrupt
from emulation.run.progress import Snapshot, display
from emulation.run.variants import run_variants, turns_of
from emulation.runtimes.hosting import client_containers, foreign_images, program_images, provide_images, runtime_on
from emulation.runtimes.ladder import Rungs
from record.callbacks import do_nothing
from record.errors import HostError
from record.host_speed import HostSpeed, LoopTimes
from record.program import program_digest

_AROUND = 12.0
"""Seconds that starting and stopping a variant is expected to take."""


ShareOf = Callable[[VariantPlan, HostRunContext], AbstractContextManager[HostShare]]
"""Gives this host's share of a variant, for as long as the variant runs."""


def whole(variant: VariantPlan, _session: HostRunContext) -> AbstractContextManager[HostShare]:
    """A whole variant as the share of this host."""
    return nullcontext(HostShare.whole(variant.overlay))


def emulate(
    plan: Plan,
    rungs: Rungs,
    out: Path,
    console: Console,
    when_over: Callable[[], None],
    *,
    share_of: ShareOf = whole,
    calibration: Calibration | None = None,
    hold: Hold | None = None,
) -> RunOutcome:
    """Runs a plan, or the share of it that `share_of` gives this host. Nothing stays on the host but the run directory.

    `when_over` is called as soon as the last variant's messages have arrived, before its processes are stopped. The
    budget of delays takes from `calibration`, the shipped one by default, what messages take where nothing waits, and
    scales it by the speed of this host. With a `hold`, the run is held by whoever speaks to its socket. Raises
    `UserError`s; what was made until then is removed first.
    """
    plan.require_dilation()
    plan.require_possible(rungs.runtime.name)
    if share_of is whole:  # hosts that share a run were asked by their controller
        require_carried(plan.variants, rungs.driver, this_host())
    of_ours = (v for v in plan.variants if v.resources.foreign is None and v.resources.image is None)
    print_line = partial(console.print, markup=False, soft_wrap=True)
    provide_images(rungs, dict.fromkeys(v.scenario.routing.protocol for v in of_ours), print_line)
    every_resources = chain.from_iterable(variant.every_resources for variant in plan.variants)
    images = foreign_images(rungs, every_resources, print_line)
    of_programs = program_images(rungs, chain.from_iterable(variant.programs.items() for variant in plan.variants))
    costs = calibration or load_calibration()
    paths = RunPaths.of(plan.run_id, out)
    paths.make()
    snapshot = Snapshot(variants=len(plan.variants))
    with ExitStack() as stack:
        interrupt = stack.enter_context(Interrupt())
        journal = stack.enter_context(journaled(paths))
        if hold is not None:
            stack.enter_context(served(hold, paths.sockets))
        log = open_log(paths)
        overlays = save_overlays(plan, paths)
        record = write_manifest(
            plan,
            paths,
            rungs.runtime,
            rungs.links,
            clock=provenance.CLOCK,
            image=rungs.image,
            foreign_images={**images, **of_programs},
            program=program_digest(),
            at_rest=charged_costs(costs),
            host_speed=speed_of(costs.loops),
            calibration_origin=costs.source,
        )
        runtime = stack.enter_context(runtime_on(rungs, paths, journal))
        containers = stack.enter_context(client_containers(rungs, paths, journal))
        context = HostRunContext(
            paths=paths,
            manifest=record,
            snapshot=snapshot,
            display=stack.enter_context(display(snapshot, console)),
            interrupt=interrupt,
            log=log,
            clock=time.monotonic_ns,
            journal=journal,
            runtime=runtime,
            client_containers=containers,
            hold=hold,
        )

        @contextmanager
        def deploy(variant: VariantPlan, measured: Measurements) -> Iterator[HostDeployment]:
            with share_of(variant, context) as share:
                over = when_over if variant.name == plan.variants[-1].name else do_nothing
                yield HostDeployment(context, variant, share, rungs.driver, measured, when_over=over)

        try:
            with _failure_logged(log), full_disk_in_words(paths.directory):
                measured = run_variants(context, turns_of(plan, overlays, around=_AROUND), deploy)
        finally:
            interrupt.teardown = True
            snapshot.activity = "removing what the run made"
    outcome = conclude(paths, record, measured, judge)
    outcome.hurried = interrupt.hurried
    return outcome


def speed_of(calibrated: LoopTimes | None) -> HostSpeed | UnsetType:
    """The speed of this host, timed now, beside that of a calibrated one; not set where the latter is not known."""
    if calibrated is None:
        return UNSET
    return HostSpeed(here=loop_times(), calibrated=calibrated, timed=time.monotonic_ns())


@contextmanager
def _failure_logged(log: Any) -> Iterator[None]:
    """Logs the reason why the variants could not be run. Raises `HostError` where it is the network."""
    try:
        yield
    except NetworkError as error:
        log.error("network", error=str(error))
        raise HostError(str(error)) from error
    except BaseException as error:
        log.error("run failed", exc_info=error)
        raise
