"""A whole run: every variant in turn, from an untouched host back to an untouched host."""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

import topology
from emulation import fidelity, manifest, provenance
from emulation.errors import HostError
from emulation.fidelity import Fidelity, Measurements, judge, worst
from emulation.fidelity.logs import scan
from emulation.journal import Journal
from emulation.manifest import Manifest, VariantRecord
from emulation.network import NetworkError
from emulation.place import RunPlace
from emulation.plan import Plan
from emulation.processes import RUN_VARIABLE
from emulation.progress import Snapshot, display
from emulation.registry import register, unregister
from emulation.run.interrupt import Interrupt, Interrupted
from emulation.run.session import Session, open_log
from emulation.run.variant import VariantRun
from emulation.runtimes import ContainerRuntime, ProcessRuntime, Runtime
from emulation.runtimes.ladder import Rungs
from topology import Overlay

_AROUND = 12.0
"""Seconds that starting and stopping a variant is expected to take."""


@dataclass(slots=True)
class Outcome:
    """What became of a run."""

    directory: Path
    fidelity: Fidelity
    interrupted: bool
    began: bool
    """Whether any variant came as far as publishing."""


def emulate(plan: Plan, rungs: Rungs, out: Path, console: Console, when_over: Callable[[], None]) -> Outcome:
    """Runs a plan and returns when nothing of it is left on the host but its run directory.

    `when_over` is called as soon as the last variant's messages have arrived, before its processes are stopped.

    Raises `UserError`s; what was made until then is removed first.
    """
    place = RunPlace.of(plan.run_id, out)
    place.make()
    snapshot = Snapshot(variants=len(plan.variants))
    with ExitStack() as stack:
        interrupt = stack.enter_context(Interrupt())
        register(plan.run_id, place.journal)
        stack.callback(unregister, plan.run_id)
        journal = Journal(place.journal)
        stack.callback(journal.close)
        log = open_log(place)
        overlays = _save_overlays(plan, place)
        record = _manifest(plan, rungs)
        manifest.write(record, place.directory)
        os.environ[RUN_VARIABLE] = plan.run_id  # for the children that others start
        stack.callback(os.environ.pop, RUN_VARIABLE)
        runtime = stack.enter_context(_runtime(rungs, place, journal))
        session = Session(
            place=place,
            journal=journal,
            manifest=record,
            runtime=runtime,
            snapshot=snapshot,
            display=stack.enter_context(display(snapshot, console)),
            interrupt=interrupt,
            log=log,
        )
        try:
            measured = _run_variants(session, plan, overlays, rungs, when_over)
        except NetworkError as error:
            log.error("network", error=str(error))
            raise HostError(str(error)) from error
        except OSError as error:
            log.error("run failed", exc_info=error)
            if error.errno in {errno.ENOSPC, errno.EDQUOT}:
                raise HostError(f"no space left on the disk of {place.directory}; make room, or use --out") from error
            raise
        except BaseException as error:
            log.error("run failed", exc_info=error)
            raise
        finally:
            interrupt.teardown = True
            snapshot.activity = "removing what the run made"
    return _judge(place, record, measured)


def _runtime(rungs: Rungs, place: RunPlace, journal: Journal) -> Runtime:
    if rungs.docker is None:
        return ProcessRuntime(place, journal)
    return ContainerRuntime(rungs.docker.client, rungs.docker.image.name, place, journal)


def _manifest(plan: Plan, rungs: Rungs) -> Manifest:
    return Manifest(
        run_id=plan.run_id,
        created=plan.created.isoformat(timespec="seconds"),
        scenario=plan.scenario.resolved(),
        seed=plan.seed,
        runtime=rungs.runtime,
        links=rungs.links,
        versions=provenance.versions(),
        image=None if rungs.docker is None else rungs.docker.image.identifier,
        kernel=provenance.kernel(),
        git_revision=provenance.git_revision(),
        clock=provenance.CLOCK,
        host=provenance.host(),
    )


def _save_overlays(plan: Plan, place: RunPlace) -> list[str]:
    """The name of each variant's overlay file: `topology.json`, and another for each overlay that differs from it."""
    saved: list[tuple[str, Overlay]] = []
    names: list[str] = []
    for variant in plan.variants:
        name = next((name for name, overlay in saved if overlay == variant.overlay), None)
        if name is None:
            name = f"topology-{place.variant(variant.name).name}.json" if saved else "topology.json"
            topology.save(variant.overlay, place.directory / name)
            saved.append((name, variant.overlay))
        names.append(name)
    return names


def _run_variants(
    session: Session, plan: Plan, overlays: list[str], rungs: Rungs, when_over: Callable[[], None]
) -> list[Measurements]:
    """Runs the variants one after another, until all are done or the user interrupts."""
    measured: list[Measurements] = []
    ahead = [variant.scenario.timeline.duration + _AROUND for variant in plan.variants]
    for number, variant in enumerate(plan.variants):
        session.snapshot.begin_variant(variant.name, number + 1, time.monotonic() + sum(ahead[number:]))
        last = number == len(plan.variants) - 1
        run = VariantRun(session, variant, rungs.driver, when_over if last else _nothing)
        run.record.topology = overlays[number]
        session.manifest.variants.append(run.record)
        measured.append(run.measured)
        try:
            run.execute()
        except (Interrupted, NetworkError):
            if not session.interrupt.asked:  # Ctrl-C on a terminal reaches the network's helpers too
                raise
            run.record.interrupted = session.manifest.interrupted = True
            manifest.write(session.manifest, session.place.directory)
            session.say("interrupted: what was running has been ended in order")
            break
    return measured


def _nothing() -> None:
    """What is to be done after a variant that is not the last."""


def _judge(place: RunPlace, record: Manifest, measured: list[Measurements]) -> Outcome:
    """Adds what the logs say, and writes the fidelity verdict on every variant that came as far as publishing."""
    runs = {variant.name: _run_phase(variant) for variant in record.variants}
    found = scan(sorted(place.logs.glob("*.jsonl")), {name: run for name, run in runs.items() if run is not None})
    published = [variant for variant in measured if variant.variant in found]
    for variant in published:
        variant.logs = found[variant.variant]
    judged = [judge(variant) for variant in published]
    verdict = Fidelity(verdict=worst(variant.verdict for variant in judged), variants=judged)
    fidelity.write(verdict, place.directory)
    return Outcome(place.directory, verdict, record.interrupted, any(run is not None for run in runs.values()))


def _run_phase(variant: VariantRecord) -> tuple[int, int] | None:
    return next(((phase.start, phase.end) for phase in variant.phases if phase.name == "run"), None)
