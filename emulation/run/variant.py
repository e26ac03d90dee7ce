"""One variant of a scenario, from the start of its brokers to their end, on any deployment."""

from __future__ import annotations

from msgspec import UNSET

from broker_service.routing import protocol_named
from emulation.fidelity import Measurements
from emulation.live_overlay import Tables, UnsettledError
from emulation.planning.plan import VariantPlan, publishers_subscribe
from emulation.run.context import RunContext
from emulation.run.deployment import Deployment
from emulation.run.events import VariantEvents
from emulation.run.held_phase import HeldPhase
from emulation.run.remaining_state import remaining_state, remaining_subscriptions
from record.errors import BrokerDefectError
from record.manifest import PhaseName, VariantRecord
from record.time_units import SECOND


class VariantRun:
    """The phases of one variant; `execute` runs them all."""

    def __init__(
        self,
        context: RunContext,
        plan: VariantPlan,
        deployment: Deployment,
        record: VariantRecord,
        measured: Measurements,
    ) -> None:
        """`plan` is dilated. `record` and `measured` receive what the run finds out."""
        self._context = context
        self._plan = plan
        self._deployment = deployment
        self._record = record
        self._measured = measured
        self._tables: Tables = {}
        """Routing tables before the first client joined, where they are to be compared."""
        self._events: VariantEvents | None = None
        """Faults and changes of the overlay, while they may happen."""

    def execute(self) -> None:
        """Runs every phase. When the user interrupts, all that runs is ended and `Interrupted` is raised."""
        deployment = self._deployment
        try:
            self._run_until_drained()
            with self._context.phase(self._record, PhaseName.STOP, activity="clients leave, brokers stop"):
                self._leave()
                deployment.stop()
        except BrokerDefectError:
            deployment.abandon()
            raise
        except BaseException:
            if self._events is not None:
                self._events.end()
            deployment.stop()
            raise

    def _run_until_drained(self) -> None:
        context, record, deployment = self._context, self._record, self._deployment
        timeline, clock = self._plan.scenario.timeline, self._deployment.clock
        with context.phase(record, PhaseName.START, activity="starting brokers and clients"):
            record.drivers = deployment.start()
            if self._plan.scenario.timeline.withdraw is not None:
                self._tables = deployment.overlay.brokers.tables()
            self._events = events = VariantEvents(context, self._plan, deployment)
            context.state_work(self._plan, record)
            record.event_logs = events.logs or UNSET
            begin = deployment.begin()
            events.begin(begin)
        join_end = begin + round(timeline.join * SECOND)
        with context.phase(record, PhaseName.JOIN, (join_end - clock()) / SECOND, "clients advertise and subscribe"):
            self._join(events, join_end)
        run_end = begin + round((timeline.join + timeline.run) * SECOND)
        drained = begin + round(timeline.duration * SECOND)
        with (
            context.phase(record, PhaseName.RUN, timeline.run, "publishers publish"),
            deployment.observing((run_end - clock()) / SECOND),
        ):
            if deployment.hands is None:
                self._pass_until(events, run_end)
            else:
                held = HeldPhase(context, self._plan, deployment, deployment.hands, record=record, events=events)
                planned_end, run_end = run_end, held.pass_until_over(begin, run_end)
                drained -= planned_end - run_end
            events.heal()
        late = max(0, clock() - run_end)
        with context.phase(record, PhaseName.DRAIN, timeline.drain, "messages in flight arrive"):
            self._drain(events, drained + late)
            self._measured.faults, self._measured.questions = events.verified()
            deployment.drained()
            events.end()
            self._events = None

    def _pass_until(self, events: VariantEvents, end: int) -> None:
        """Lets time pass, with the clients' operations and the faults that are due."""
        deployment = self._deployment
        clock, advance, look = deployment.clock, deployment.advance, deployment.look
        while clock() < end:
            advance(events.next_stop(end))
            events.advance()
            look()

    def _join(self, events: VariantEvents, end: int) -> None:
        """Lets clients join until the phase's time is over, and notes whether the overlay is quiet by then."""
        context, deployment = self._context, self._deployment
        quiet = deployment.overlay.quiet_watch()
        while (now := deployment.clock()) < end:
            if not events.in_effect:  # a paused broker does not answer, and the next faults do not wait for it
                was_quiet = bool(quiet.quiet_for)
                quiet.look(end)
                if quiet.quiet_for and not was_quiet:
                    context.doing("all subscriptions are in place, no message moves")
            self._pass_until(events, self._next_look(now, end))
        self._measured.unsettled = busy = quiet.busy
        context.log.info("joined", variant=self._plan.name, busy=busy)
        if busy:
            self._record.unsettled = busy
            context.announce(
                f"{self._plan.name}: {len(busy)} of {len(self._plan.overlay.brokers)} brokers were still passing on "
                "subscriptions when publishing began; a longer `timeline.join` lets them finish first"
            )

    def _drain(self, events: VariantEvents, end: int) -> None:
        """Waits until all operations are issued and nothing has moved for a while, at most until `end`."""
        deployment = self._deployment
        quiet = deployment.overlay.quiet_watch()
        while (now := deployment.clock()) < end:
            quiet.look(end)
            if deployment.done and quiet.quiet_for >= deployment.pace.rest:
                return
            self._pass_until(events, self._next_look(now, end))
        if not (deployment.done and quiet.quiet_for):
            self._record.undrained = True
            self._context.announce(f"{self._plan.name}: messages were still in flight when the drain phase ended")

    def _leave(self) -> None:
        """Lets all clients leave, and notes the state that is left, where the scenario asks for it."""
        deployment, within = self._deployment, self._plan.scenario.timeline.withdraw
        first, *others = self._plan.leaving
        deployment.leave(*first)
        if within is None:
            return
        self._context.doing("comparing routing tables with those before the first client joined")
        self._outlast_former_sessions()
        tables = self._settled_tables(within)
        left = {} if publishers_subscribe(self._plan.workload) else remaining_subscriptions(tables)
        for nodes in others:
            deployment.leave(*nodes)
        counting = protocol_named(self._plan.scenario.routing.protocol).options.counting_tables
        self._record.remaining_state = left | remaining_state(self._tables, self._settled_tables(within), counting)
        if found := len(self._record.remaining_state):
            keeping = "1 broker keeps" if found == 1 else f"{found} brokers keep"
            self._context.announce(f"{self._plan.name}: {keeping} routing state after all clients have left")

    def _outlast_former_sessions(self) -> None:
        """Lets the time pass after which brokers have ended the sessions of clients that left them without a word. The
        last ones left when all faults were healed."""
        moves, run = self._record.moves, self._record.phase(PhaseName.RUN)
        if moves is UNSET or run is None:
            return
        ended = run.end + round(moves.old_session_ends_within * self._measured.time_dilation * SECOND)
        while self._deployment.clock() < ended:
            self._deployment.advance(ended)
            self._deployment.look()

    def _settled_tables(self, within: float) -> Tables:
        try:
            self._deployment.settle(within)
        except UnsettledError as error:
            self._context.announce(f"{self._plan.name}: {error}, after clients had left; see `timeline.withdraw`")
        return self._deployment.read_tables()

    def _next_look(self, now: int, end: int) -> int:
        interval = self._deployment.pace.look_interval((end - now) / SECOND)
        return min(end, now + round(interval * SECOND))
