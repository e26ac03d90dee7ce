"""One run in virtual time and the verdict on it, in this process.

The simulator, the phases of a run and the judge are those of `brokerlab emulate --runtime simulated`; what only serves
its files is left out. So a scenario that is written to a file runs the same there, byte for byte.
"""

from __future__ import annotations

import logging
import shutil
import tempfile
import traceback
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

import structlog

from analysis.engines import MemoryEngine
from analysis.pipeline import analyze
from analysis.pipeline.deliveries import judged_deliveries
from analysis.run_files.logs import LogsInMemory
from analysis.tables.deliveries import Defect as DeliveryDefect
from analysis.tables.deliveries import Expectation
from analysis.tables.results import read_partition
from analysis.tables.summary import BROKER_DEFECT, CORRECT, UNJUDGED, Delivery, Example
from emulation.fidelity import Measurements
from emulation.host.run_paths import RunPaths
from emulation.live_overlay import Tables
from emulation.planning.calibration import Calibration, load_calibration
from emulation.planning.plan import Plan, VariantPlan, make_plan
from emulation.run.context import RunContext
from emulation.run.directory import save_overlays
from emulation.run.interrupt import Interrupt
from emulation.run.progress import Snapshot, no_display
from emulation.run.variants import run_variants, turns_of
from emulation.simulation.deployment import SimulatedDeployment
from emulation.simulation.fault_observer import BackgroundLooks, SimulatedObserver
from emulation.simulation.kept_logs import KeptLogs
from emulation.simulation.run import CLOCK
from emulation.verification.seen import DirectionSeen
from emulation.verification.verifier import FaultVerifier
from record import manifest
from record.errors import UserError
from record.files import RESULTS
from record.log import TraceRecord
from record.manifest import MODELLED, Manifest, PhaseName, RungChoice, VariantRecord
from record.unread import UNREAD
from record.wording import count_of
from scenario.model import Scenario
from studies.exploration.records import farthest, in_order
from topology.link_properties import LinkDirection, LinkProperties

MOST_RECORDS = 50_000
"""Records that a run may log. A usual one logs a thousand."""
MOST_LOOKS = 200
"""Looks at the calls of a run, of which there is one for each thousand. A usual run is over after ten."""
HOPS_OF_A_BROKER = 20
"""Links for each broker of the overlay beyond which a message goes in circles."""
_SIMULATED = RungChoice("simulated", "explored")
_SILENT = structlog.wrap_logger(None, wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL)).bind()


class Kind(StrEnum):
    """Defects besides those that the judge names."""

    NO_QUIET = "no quiet"
    """Messages still moved, or a router still waited for something, when the drain phase ended."""
    NO_END = "no end"
    """The run made more calls than any run of its size needs."""
    CIRCLES = "goes in circles"
    """A message travelled over far more links than the overlay has brokers."""
    NO_VERDICT = "no verdict"
    """The simulator or the judge failed; the detail is the stack trace."""
    PROCESS_ENDED = "process ended"
    """The process that simulated the run was killed or ended by itself, twice; nearly always a router's code did it."""


@dataclass(frozen=True, slots=True)
class Defect:
    """Something that a run must not show."""

    kind: str
    """The judge's word, or one of `Kind`."""
    detail: str
    """An example, for people."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedRun:
    """A run and the verdict on it."""

    defects: tuple[Defect, ...] = ()
    records: tuple[TraceRecord, ...] = ()
    """Everything that its nodes logged, in order of time."""
    tables: Tables = field(default_factory=dict)
    """Routing tables after the last message, before clients left; empty where the run did not come so far."""
    begin: int = 0
    """Time at which the join phase began, nanoseconds of the run's clock."""
    refused: str = ""
    """The reason why the scenario cannot be run; nothing else is known then."""

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of its defects, each once, in order."""
        return tuple(dict.fromkeys(defect.kind for defect in self.defects))


class EndlessRunError(Exception):
    """The run was ended because it would go on for ever, or nearly."""


class JudgingRoom:
    """The place of one process in which it runs and judges scenarios, one after another."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._costs = load_calibration()

    def judged(self, scenario: Scenario) -> JudgedRun:
        """Runs a scenario without variants and judges it.

        Whatever fails on the way is a defect too: nothing that the checks accept may stop the simulator or the judge.
        """
        directory = Path(tempfile.mkdtemp(dir=self._directory))
        try:
            return _Run(make_plan(scenario), directory, self._costs).judged()
        except UserError as error:
            return JudgedRun(refused=str(error))
        except Exception:
            return JudgedRun(defects=(Defect(Kind.NO_VERDICT, traceback.format_exc()),))
        finally:
            shutil.rmtree(directory)

    def expectations(self, scenario: Scenario) -> Sequence[Expectation]:
        """Words of the judge on each publication and client. Raises `UserError`."""
        directory = Path(tempfile.mkdtemp(dir=self._directory))
        try:
            return _Run(make_plan(scenario), directory, self._costs).expectations()
        finally:
            shutil.rmtree(directory)


@contextmanager
def judging_room() -> Iterator[JudgingRoom]:
    """A room that leaves nothing behind."""
    with tempfile.TemporaryDirectory(prefix="explored-") as directory:
        yield JudgingRoom(Path(directory))


class _Run:
    """One run, from its plan to its defects."""

    def __init__(self, plan: Plan, out: Path, costs: Calibration) -> None:
        self.tables: Tables = {}
        self._paths = RunPaths.of(plan.run_id, out)
        self._plan = plan
        self.costs = costs
        self.logs = KeptLogs(plan.variants[0].name)
        self._manifest = Manifest(
            run_id=plan.run_id, seed=plan.seed, runtime=_SIMULATED, links=MODELLED, clock=CLOCK, variants=[]
        )

    def judged(self) -> JudgedRun:
        """Runs the plan and judges it. Raises `UserError`."""
        endless, defect = "", ""
        try:
            defect = self._simulated().defect
        except EndlessRunError as error:
            endless = str(error)
        records = tuple(in_order(self.logs.by_file().values()))
        defects: tuple[Defect, ...]
        if endless:
            defects = (Defect(Kind.NO_END, endless),)
        else:
            defects = (Defect(BROKER_DEFECT, defect),) if defect else tuple(self._defects(records))
        return JudgedRun(defects=defects, records=records, tables=self.tables, begin=self._begin)

    def expectations(self) -> Sequence[Expectation]:
        """Runs the plan, and judges what is owed to clients. Raises `UserError`."""
        self._simulated()
        self.logs.save(self._paths.logs)
        manifest.write(self._manifest, self._paths.directory)
        analyze(self._paths.directory, MemoryEngine())
        return read_partition(self._paths.directory / RESULTS, Expectation, self._plan.variants[0].name)

    @property
    def _begin(self) -> int:
        """The start of the join phase, 0 where there was none."""
        variants = self._manifest.variants
        return begin_of(variants[0]) if variants else 0

    def _defects(self, records: Iterable[TraceRecord]) -> Iterator[Defect]:
        (variant,), (plan,) = self._manifest.variants, self._plan.variants
        manifest.write(self._manifest, self._paths.directory)
        (delivery,) = judged_deliveries(self._paths.directory, MemoryEngine(), LogsInMemory(self.logs.by_file()))
        yield from defects_of(delivery, variant, plan.scenario.timeline.drain)
        brokers = len(plan.overlay.brokers)
        hops, message = farthest(records)
        if hops > HOPS_OF_A_BROKER * brokers:
            where = f"{message} travelled over {hops} links of {brokers} brokers (field `hops` of the logs)"
            yield Defect(Kind.CIRCLES, where)

    def _simulated(self) -> Measurements:
        """Raises `EndlessRunError`, `UserError`."""
        self._paths.make()
        turns = turns_of(self._plan, save_overlays(self._plan, self._paths))
        snapshot = Snapshot(variants=1, speed=0.0)
        with no_display(snapshot) as display:
            context = _Unwritten(
                paths=self._paths,
                manifest=self._manifest,
                snapshot=snapshot,
                display=display,
                interrupt=Interrupt(),
                log=_SILENT,
                clock=lambda: 0,
            )

            def deployed(variant: VariantPlan, measured: Measurements) -> AbstractContextManager[SimulatedDeployment]:
                return nullcontext(_Watched(self, context, variant, measured.time_dilation))

            (measured,) = run_variants(context, turns, deployed)
        return measured


class _Unwritten(RunContext):
    """The context of a small run whose manifest is kept in memory, and whose clients' work nobody compares with the
    plan."""

    def state_work(self, plan: VariantPlan, record: VariantRecord) -> None:
        """The work is not stated: that takes as long as a tenth of the run's events."""

    def free_memory(self, settled: int) -> None:
        """The network is freed by the next collection that is due, with those of other runs, because it is small."""

    def keep_manifest(self) -> None:
        """The manifest is written when the run has ended."""


class _Watched(SimulatedDeployment):
    """A deployment that is ended where it goes on for ever, and whose tables are read before clients leave."""

    def __init__(self, run: _Run, context: RunContext, plan: VariantPlan, time_dilation: float) -> None:
        super().__init__(context, plan, run.costs, time_dilation=time_dilation, logs=run.logs)
        self._run = run
        self._looks = 0
        self.fault_observer = _Trusting(self.overlay, plan.scenario.seed)
        self.overlay.events.look = self._look_at_calls

    def _look_at_calls(self) -> None:
        self._looks += 1
        if self._looks > MOST_LOOKS or self._logs.written > MOST_RECORDS:
            raise EndlessRunError(f"the run did not end after {count_of(self._logs.written, 'log record')}")

    def look_regularly(self, verifier: FaultVerifier) -> BackgroundLooks:
        """Nobody looks: whether the simulator did what it was asked for is no question here, and looks cost a tenth."""
        return _NoLooks(verifier, self.overlay.events)

    def drained(self) -> None:
        self._run.tables = self.read_tables()


class _Trusting(SimulatedObserver):
    """Takes the simulator's word for its links: to send packets through their twins costs a tenth as well."""

    def directions(
        self, asked: Mapping[LinkDirection, LinkProperties], lost: Mapping[LinkDirection, float]
    ) -> Mapping[LinkDirection, DirectionSeen]:
        return {direction: DirectionSeen(sent=1, arrived=int(lost[direction] < 1)) for direction in asked}


class _NoLooks(BackgroundLooks):
    """Looks that never come."""

    def renew(self) -> None:
        """No look is due."""


def begin_of(variant: VariantRecord) -> int:
    """The start of a variant's join phase, 0 where there was none."""
    phase = variant.phase(PhaseName.JOIN)
    return 0 if phase is None else phase.start


def defects_of(delivery: Delivery, variant: VariantRecord, drain: float) -> Iterator[Defect]:
    """The defects that the judge names, with its first example of each; and no quiet after a drain phase of so many
    seconds.

    Left out is a loss of which each example is a notification for which the queue of a client's session had no room. A
    small queue, drawn for clients that read slowly, holds for all of them, and may be full before the others can read.
    """
    examples = {example.defect: _in_words(example) for example in reversed(delivery.examples) if not _no_room(example)}
    without_room = {example.defect for example in delivery.examples if _no_room(example)} - examples.keys()
    for verdict in delivery.verdicts:
        if verdict not in (CORRECT, UNJUDGED, *without_room):
            yield Defect(verdict, examples.get(verdict, ""))
    if variant.undrained:
        text = f"messages were still in flight {drain:g} s after the last publication and the last heal"
        yield Defect(Kind.NO_QUIET, text)


def _no_room(example: Example) -> bool:
    return example.defect == DeliveryDefect.LOST and example.detail.endswith(UNREAD)


def _in_words(example: Example) -> str:
    concerned = " for ".join(filter(None, (example.subject, example.client)))
    return f"{concerned}: {example.detail}" if concerned else example.detail
