"""A whole run: every variant in turn, from an untouched host back to an untouched host."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from pathlib import Path

from rich.console import Console

from emulation.fidelity import Measurements, judge
from emulation.host import provenance
from emulation.host.journal import Journal
from emulation.host.processes import RUN_VARIABLE
from emulation.host.registry import register, unregister
from emulation.host.run_paths import RunPaths
from emulation.network import NetworkError
from emulation.planning.plan import Plan, VariantPlan
from emulation.run.context import HostRunContext, open_log
from emulation.run.directory import RunOutcome, conclude, full_disk_in_words, new_manifest, save_overlays
from emulation.run.host_deployment import HostDeployment
from emulation.run.host_share import HostShare
from emulation.run.interrupt import Interrupt
from emulation.run.progress import Snapshot, display
from emulation.run.variants import run_variants
from emulation.runtimes.hosting import runtime_on
from emulation.runtimes.ladder import Rungs
from record import manifest
from record.errors import HostError

_AROUND = 12.0
"""Seconds that starting and stopping a variant is expected to take."""


ShareOf = Callable[[VariantPlan, HostRunContext], AbstractContextManager[HostShare]]
"""Gives this host's share of a variant, for as long as the variant runs."""


def whole(variant: VariantPlan, _session: HostRunContext) -> AbstractContextManager[HostShare]:
    """All of it."""
    return nullcontext(HostShare.whole(variant.overlay))


def emulate(
    plan: Plan, rungs: Rungs, out: Path, console: Console, when_over: Callable[[], None], *, share_of: ShareOf = whole
) -> RunOutcome:
    """Runs a plan, or this host's `part` of it, and returns when nothing is left on the host but the run directory.

    `when_over` is called as soon as the last variant's messages have arrived, before its processes are stopped.

    Raises `UserError`s; what was made until then is removed first.
    """
    plan.require_possible(rungs.runtime.name)
    paths = RunPaths.of(plan.run_id, out)
    paths.make()
    snapshot = Snapshot(variants=len(plan.variants))
    with ExitStack() as stack:
        interrupt = stack.enter_context(Interrupt())
        register(plan.run_id, paths.journal)
        stack.callback(unregister, plan.run_id)
        journal = Journal(paths.journal)
        stack.callback(journal.close)
        log = open_log(paths)
        overlays = save_overlays(plan, paths)
        image = None if rungs.docker is None else rungs.docker.image.identifier
        record = new_manifest(plan, rungs.runtime, rungs.links, provenance.CLOCK, image)
        manifest.write(record, paths.directory)
        os.environ[RUN_VARIABLE] = plan.run_id  # for the children that others start
        stack.callback(os.environ.pop, RUN_VARIABLE)
        runtime = stack.enter_context(runtime_on(rungs, paths, journal))
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
        )
        last = plan.variants[-1].name

        @contextmanager
        def deploy(variant: VariantPlan, measured: Measurements) -> Iterator[HostDeployment]:
            with share_of(variant, context) as share:
                over = when_over if variant.name == last else _nothing
                yield HostDeployment(context, variant, share, rungs.driver, measured, when_over=over)

        try:
            with full_disk_in_words(paths.directory):
                measured = run_variants(context, plan, overlays, deploy, around=_AROUND)
        except NetworkError as error:
            log.error("network", error=str(error))
            raise HostError(str(error)) from error
        except BaseException as error:
            log.error("run failed", exc_info=error)
            raise
        finally:
            interrupt.teardown = True
            snapshot.activity = "removing what the run made"
    return conclude(paths, record, measured, judge)


def _nothing() -> None:
    """Does nothing after a variant that is not the last."""
