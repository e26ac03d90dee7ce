"""The whole calibration: the work of a busy broker, then latencies in an overlay at a low rate.

A broker alone on an idle host answers faster than one that shares it with many others, even where none of them has much
to do: caches are cold, and their timers compete. So latencies are taken in an overlay of usual size.

Latencies are taken over emulated links where this host can emulate any, so that the link driver's own error is part of
them, as it is in emulated runs; elsewhere over loopback, as the calibration's origin states.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

import msgspec
from rich.console import Console

from broker_service.messages import Kind
from emulation.host import provenance
from emulation.host.loop_times import loop_times
from emulation.host.reference_loops import Reference, time_of
from emulation.planning.calibration import Calibration, HostCosts, Latency, Origin, load_calibration
from emulation.planning.plan import PUBLISHERS, SUBSCRIBERS, Plan, make_plan
from emulation.run import emulate
from emulation.run.interrupt import Interrupted
from emulation.runtimes.ladder import AUTO, Simulated, choose
from record.callbacks import do_nothing
from record.errors import HostError
from record.fidelity import Fidelity, FidelityVerdict
from record.files import LOGS
from record.host_speed import LoopTimes
from record.slower_run import others_took_much
from record.time_units import SECOND
from scenario.model import Scenario
from scenario.workload.operations import OperationKind
from studies.calibration.control import surplus_of_control
from studies.calibration.host import LoadedRun, host_costs
from studies.calibration.latency import LatencySamples, intervals, read_logs
from studies.calibration.loopback import LoopbackOverlay
from studies.calibration.work import MeasuredWork, measure_work

BROKERS = 30
"""Brokers that share the host by default, as in an emulated run of usual size."""
CLIENTS = 10
"""Publishers, and as many subscribers."""
RATE = 40.0
"""Publications a second, of all publishers: hardly anything ever waits for another."""
REST_RATE = 0.1
"""The rate of a run whose hosts are at rest."""
JOIN = 2.0
RUN = 10.0
LINK_DELAY = 0.005
FEWEST = 100
"""Notifications that must have come through."""


def _scenario(brokers: int, rate: float) -> Scenario:
    """Publications at a low rate of all publishers, over links without jitter or limits."""
    clients = min(CLIENTS, brokers)
    return Scenario.model_validate(
        {
            "name": "calibration",
            "topology": {
                "kind": "random-tree", "brokers": brokers, "link": {"delay": f"{LINK_DELAY}s"},
            },
            "routing": {"protocol": "tid", "publications": "fixed"},
            "workload": {
                "publications": {
                    "source": "stocks", "publishers": clients, "rate": f"{rate / clients}/s", "arrivals": "poisson",
                },
                "subscriptions": {"subscribers": clients, "selectivity": "10%"},
            },
            "timeline": {"join": f"{JOIN}s", "run": f"{RUN}s", "drain": "2s"},
        }
    )  # fmt: skip


Progress = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Latencies:
    """Latencies of an overlay at a low rate."""

    intervals: LatencySamples
    method: str
    verdict: FidelityVerdict | None
    """On the emulated links; None for loopback."""
    loaded: LoadedRun | None = None
    """The run that they are of; None for loopback."""


@dataclass(frozen=True, slots=True)
class Measured:
    """A calibration, and what its latencies were made from."""

    calibration: Calibration
    latencies: Latencies


def calibrate(brokers: int, runtime: str, console: Console, on_progress: Progress) -> Measured:
    """Measures for about 80 seconds; latencies with that many brokers, on a rung of the capability ladder or `auto`.

    Leaves nothing behind. Raises `Interrupted` when the user ends it, and `UserError`s.
    """
    load, loops = os.getloadavg()[0], LoopTimes(interpreter=time_of(Reference.INTERPRETER))
    with _directory() as directory:
        work = with_control(measure_work(_made(directory / "work"), on_progress), on_progress)
        latencies = _latencies(brokers, runtime, directory, console, on_progress)
        made = assemble(latencies.intervals, work, _origin(latencies.method, load), loops)
        host = _host_costs(latencies.loaded, made, directory / "rest", console, on_progress)
    notifications = len(latencies.intervals.notify)
    if notifications < FEWEST:
        raise HostError(
            f"only {notifications} notifications came through, too few for a measurement; "
            "end what else runs on this host and try again"
        )
    return Measured(msgspec.structs.replace(made, host=host), latencies)


def with_control(work: MeasuredWork, on_progress: Progress) -> MeasuredWork:
    """The work, with the kind of message that no client can be made to send."""
    on_progress("a broker's work: control messages")
    cost = work.kinds[OperationKind.PUBLISH.value] + surplus_of_control()
    return replace(work, kinds={**work.kinds, Kind.CONTROL.word: max(0, round(cost))})


def assemble(found: LatencySamples, work: MeasuredWork, origin: Origin, loops: LoopTimes) -> Calibration:
    """Intervals hold the work of the broker in which they end; the simulator charges that separately."""
    own = work.frame + work.kinds[OperationKind.PUBLISH]
    return Calibration(
        submit=Latency.of(found.submit).less(own),
        link=Latency.of(found.link).less(own),
        notify=Latency.of(found.notify),
        frame=work.frame,
        work=dict(work.kinds),
        loops=loops,
        origin=origin,
    )


def _latencies(brokers: int, runtime: str, directory: Path, console: Console, on_progress: Progress) -> Latencies:
    plan = make_plan(_scenario(brokers, RATE))
    pairs = [ends for link in plan.variants[0].overlay.links for ends in link.directions]
    rungs = choose(runtime, AUTO, on_progress)
    if isinstance(rungs, Simulated):
        on_progress("latencies over loopback")
        found = intervals(read_logs(_over_loopback(plan, _made(directory / "loopback"))), dict.fromkeys(pairs, 0.0))
        return Latencies(found, f"{brokers} broker processes over loopback, because {rungs.runtime.reason}", None)
    on_progress(f"latencies, runtime {rungs.runtime.name}, {rungs.links.name} links")
    outcome = emulate(plan, rungs, _made(directory / "runs"), console, do_nothing)
    if outcome.interrupted:
        raise Interrupted
    found = intervals(read_logs(outcome.directory / LOGS), dict.fromkeys(pairs, LINK_DELAY))
    verdict = _verdict(outcome.fidelity)
    links = f"{rungs.links.name} links of {LINK_DELAY * 1e3:g} ms"
    method = f"{brokers} brokers, runtime {rungs.runtime.name}, {links}, fidelity {verdict}"
    return Latencies(found, method, verdict, LoadedRun(outcome, plan.variants[0], rungs))


def _host_costs(
    loaded: LoadedRun | None, charged: Calibration, directory: Path, console: Console, on_progress: Progress
) -> HostCosts:
    """Costs of a run besides the charged ones, from a second one at rest; the shipped ones without emulated links."""
    if loaded is None:
        return load_calibration().on(loop_times()).host
    on_progress("processor time of a run at rest")
    plan = make_plan(_scenario(len(loaded.variant.overlay.brokers), REST_RATE))
    outcome = emulate(plan, loaded.rungs, _made(directory), console, do_nothing)
    if outcome.interrupted:
        raise Interrupted
    return host_costs(loaded, outcome.directory, charged)


def _verdict(fidelity: Fidelity) -> FidelityVerdict:
    """The verdict on the run of a calibration. Its delays cannot be held against a calibration, so other programs alone
    are a reason to measure again."""
    disturbed = any(others_took_much(variant.processors) for variant in fidelity.variants)
    return FidelityVerdict.INVALID if disturbed else fidelity.verdict


def _over_loopback(plan: Plan, directory: Path) -> Path:
    """Runs a plan's workload on brokers without links between them. Returns where the logs are."""
    variant = plan.variants[0]
    until = round((JOIN + RUN) * SECOND)  # no client leaves before the end
    operations = [operation for operation in variant.workload.operations() if operation.at <= until]
    publishers = variant.workload.population.publishers.keys()
    with LoopbackOverlay([(link.a, link.b) for link in variant.overlay.links], directory) as overlay:
        drivers = overlay.drive(
            {
                PUBLISHERS: [operation for operation in operations if operation.client in publishers],
                SUBSCRIBERS: [operation for operation in operations if operation.client not in publishers],
            }
        )
        try:
            begin = overlay.begin(drivers)
            time.sleep(max(0.0, begin + JOIN + RUN + 1.0 - time.monotonic()))
            drivers.check()
        finally:
            drivers.end(5.0)
        return overlay.logs


def _origin(method: str, load: float) -> Origin:
    host = provenance.host()
    return Origin(
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        method=method,
        processor=host.processor,
        cpus=host.cpus,
        system=host.system,
        kernel=provenance.kernel(),
        versions=provenance.versions(),
        git_revision=provenance.git_revision(),
        load_average=load,
    )


@contextmanager
def _directory() -> Iterator[Path]:
    """A temporary directory that brokers without root may enter."""
    with tempfile.TemporaryDirectory(prefix="calibration-") as name:
        directory = Path(name)
        directory.chmod(0o755)
        yield directory


def _made(directory: Path) -> Path:
    directory.mkdir()
    return directory
