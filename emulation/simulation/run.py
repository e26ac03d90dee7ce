"""A whole simulated run: every variant in turn, into the same run directory that real runs make."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path

from broker_service.errors import BrokerDefectError
from emulation.fidelity import Measurements, judge_modelled
from emulation.host.run_paths import RunPaths
from emulation.planning.plan import Plan
from emulation.run.context import Session, open_log
from emulation.run.directory import Outcome, conclude, full_disk_in_words, new_manifest, save_overlays
from emulation.run.interrupt import Interrupt, Interrupted
from emulation.run.progress import Display, Snapshot, no_display
from emulation.simulation.calibration import Calibration, load_calibration
from emulation.simulation.event_queue import Agenda
from emulation.simulation.memory import rare_collections
from emulation.simulation.variant import SimulatedVariant
from record import manifest
from record.manifest import MODELLED, Choice

CLOCK = "virtual, in nanoseconds since the variant's brokers were started"
ASKED_FOR = Choice("simulated", "asked for")


def simulate(
    plan: Plan,
    out: Path,
    *,
    calibration: Calibration | None = None,
    runtime: Choice = ASKED_FOR,
    show: Callable[[Snapshot], AbstractContextManager[Display]] = no_display,
    interrupt: Interrupt | None = None,
    stopwatch: Callable[[], int] | None = None,
) -> Outcome:
    """Runs a plan in virtual time; nothing of the host is touched but the run directory `out/<run id>`.

    The same plan writes the same logs, byte for byte. `calibration` says what brokers' own work costs, by default what
    was measured on the machine that the shipped file names; `runtime` is what the manifest says of why it is simulated.
    With a `stopwatch` (nanoseconds) the logs tell how long matching and routing took here, so those numbers differ each
    time; without one they took no virtual time.
    Raises `UserError`s. Prints nothing and heeds no signal unless `show` and an entered `interrupt` are given, so that
    worker processes may call it.
    """
    costs = calibration or load_calibration()
    plan.require_possible(runtime.name)
    paths = RunPaths.of(plan.run_id, out)
    paths.make()
    snapshot = Snapshot(variants=len(plan.variants), speed=0.0)
    with ExitStack() as stack:
        log = open_log(paths)
        overlays = save_overlays(plan, paths)
        record = new_manifest(plan, runtime, MODELLED, CLOCK, None)
        manifest.write(record, paths.directory)
        session = Session(
            paths=paths,
            manifest=record,
            snapshot=snapshot,
            display=stack.enter_context(show(snapshot)),
            interrupt=interrupt or Interrupt(),
            log=log,
            clock=_not_begun,
        )
        try:
            with full_disk_in_words(paths.directory), rare_collections():
                measured = _simulate_variants(session, plan, costs, overlays, stopwatch)
        except BaseException as error:
            log.error("run failed", exc_info=error)
            raise
    return conclude(paths, record, measured, judge_modelled)


def _simulate_variants(
    session: Session,
    plan: Plan,
    calibration: Calibration,
    overlays: list[str],
    stopwatch: Callable[[], int] | None,
) -> list[Measurements]:
    """Runs the variants one after another, each in a time of its own, until all are done or the user interrupts."""
    measured: list[Measurements] = []
    for number, variant in enumerate(plan.variants):
        ahead = sum(each.lasts for each in plan.variants[number:])
        agenda = Agenda()
        run = SimulatedVariant(session.at(agenda.clock), variant, calibration, agenda, stopwatch=stopwatch)
        session.snapshot.clock = agenda.seconds
        session.snapshot.begin_variant(variant.name, number + 1, ahead)
        session.snapshot.dilation = variant.scenario.time_dilation
        run.record.topology = overlays[number]
        session.manifest.variants.append(run.record)
        measured.append(run.measured)
        try:
            run.execute()
        except BrokerDefectError as defect:
            run.measured.defect = str(defect)
            session.cut_short(number)
            break
        except Interrupted:
            session.manifest.interrupted = True
            session.cut_short(number)
            session.say("interrupted: what was simulated so far is kept")
            break
    return measured


def _not_begun() -> int:
    return 0
