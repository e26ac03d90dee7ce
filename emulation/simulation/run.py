"""A whole simulated run: every variant, into the same run directory that real runs make."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, ExitStack, nullcontext
from functools import partial
from pathlib import Path

from broker_service.routing.registry import place_of
from emulation.fidelity import Measurements, judge_modelled
from emulation.held.hold import Hold
from emulation.held.server import served
from emulation.host.journaled_runs import journaled
from emulation.host.room import Host
from emulation.host.run_paths import RunPaths
from emulation.planning.calibration import Calibration, charged_costs, load_calibration
from emulation.planning.plan import Plan, VariantPlan
from emulation.run.context import RunContext, open_log
from emulation.run.directory import RunOutcome, conclude, full_disk_in_words, save_overlays, write_manifest
from emulation.run.interrupt import Interrupt
from emulation.run.progress import RunDisplay, Snapshot, no_display
from emulation.run.variants import Turn, run_variants, turns_of
from emulation.simulation.deployment import SimulatedDeployment
from emulation.simulation.held_deployment import HeldDeployment
from emulation.simulation.memory import at_a_time, rare_collections
from emulation.simulation.one_processor import beside_programs
from emulation.simulation.side_by_side import side_by_side
from record.callbacks import do_nothing
from record.fidelity import Fidelity, worst
from record.manifest import MODELLED, Manifest, PhaseName, RungChoice

CLOCK = "virtual, in nanoseconds since the variant's brokers were started"
ASKED_FOR = RungChoice("simulated", "asked for")
ONE_AT_A_TIME = Host(processors=1, memory=0)


def simulate(
    plan: Plan,
    out: Path,
    *,
    calibration: Calibration | None = None,
    runtime: RungChoice = ASKED_FOR,
    show: Callable[[Snapshot], AbstractContextManager[RunDisplay]] = no_display,
    interrupt: Interrupt | None = None,
    stopwatch: Callable[[], int] | None = None,
    host: Host = ONE_AT_A_TIME,
    speed: float | None = None,
    when_begun: Callable[[], None] = do_nothing,
    hold: Hold | None = None,
) -> RunOutcome:
    """Runs a plan in virtual time; nothing of the host is touched but the run directory `out/<run id>`.

    The same plan writes the same logs, byte for byte. `calibration` is the cost of brokers' own work, by default as
    measured on the machine that the shipped file names; `runtime` states in the manifest why the run is simulated.
    With a `stopwatch` (nanoseconds) the logs hold how long matching and routing took here, so those numbers differ each
    time; without one they took no virtual time.

    As many variants run side by side as the `host` has room for, in processes that are forked before `when_begun` is
    called; until then this process must have no other threads. A single variant is in such a process where an author's
    code could end it. By default one runs after another, in this process.
    `speed` is seconds of the scenario that may pass in one real second, by default as many as the host can do. With a
    `hold`, the run is held by whoever speaks to its socket; `speed` is that with which it begins, by default 1.
    Raises `UserError`s. Prints nothing and heeds no signal unless `show` and an entered `interrupt` are given, so that
    worker processes may call it.
    """
    costs = calibration or load_calibration()
    plan.require_possible(runtime.name)
    paths = RunPaths.of(plan.run_id, out)
    paths.make()
    snapshot = Snapshot(variants=len(plan.variants), speed=0.0)
    with ExitStack() as stack:
        if hold is not None:
            stack.enter_context(journaled(paths))
            stack.enter_context(served(hold, paths.sockets))
        log = open_log(paths)
        turns = turns_of(plan, save_overlays(plan, paths))
        manifest = write_manifest(plan, paths, runtime, MODELLED, clock=CLOCK)
        manifest.calibration = charged_costs(costs)
        manifest.calibration_origin = costs.source

        def run(context: RunContext, turns: Iterable[Turn]) -> list[Measurements]:
            deployed = partial(_deployment, context, costs, stopwatch=stopwatch, speed=speed, hold=hold)
            with beside_programs(plan):
                return run_variants(context, turns, deployed)

        try:
            with full_disk_in_words(paths.directory), ExitStack() as running:
                run_all: Callable[[RunContext], list[Measurements]] = partial(run, turns=turns)
                processes = at_a_time(plan.variants, host)
                if processes > 1 or (host is not ONE_AT_A_TIME and _may_end_processes(plan)):
                    run_all = running.enter_context(side_by_side(processes, paths, manifest, turns, run)).run
                when_begun()
                context = RunContext(
                    paths=paths,
                    manifest=manifest,
                    snapshot=snapshot,
                    display=stack.enter_context(show(snapshot)),
                    interrupt=interrupt or Interrupt(),
                    log=log,
                    clock=_not_begun,
                )
                running.enter_context(rare_collections())
                measured = run_all(context)
        except BaseException as error:
            log.error("run failed", exc_info=error)
            raise
        context.interrupt.release()
        if context.interrupt.hurried:
            return _not_judged(paths, manifest)
        context.doing("judging the emulation by the logs")
        return conclude(paths, manifest, measured, judge_modelled)


def _not_judged(paths: RunPaths, record: Manifest) -> RunOutcome:
    """The outcome of a run whose logs are not even read for the verdict on the emulation, which takes minutes where
    they are large."""
    began = any(variant.phase(PhaseName.RUN) is not None for variant in record.variants)
    return RunOutcome(paths.directory, Fidelity(verdict=worst(()), variants=[]), True, began, hurried=True)


def _deployment(
    context: RunContext,
    costs: Calibration,
    variant: VariantPlan,
    measured: Measurements,
    *,
    stopwatch: Callable[[], int] | None,
    speed: float | None,
    hold: Hold | None,
) -> AbstractContextManager[SimulatedDeployment]:
    dilation = measured.time_dilation
    if hold is not None:
        return nullcontext(
            HeldDeployment(context, variant, costs, hold=hold, time_dilation=dilation, stopwatch=stopwatch, speed=speed)
        )
    return nullcontext(
        SimulatedDeployment(context, variant, costs, time_dilation=dilation, stopwatch=stopwatch, speed=speed)
    )


def _may_end_processes(plan: Plan) -> bool:
    """True where the code of a protocol from outside runs in the process of its variant, which `os._exit` ends."""
    return any(place_of(variant.scenario.routing.protocol) is not None for variant in plan.variants)


def _not_begun() -> int:
    return 0
