"""Infidelities of links and faults: the simulated network is not what was asked for."""

from __future__ import annotations

from dataclasses import replace

from emulation.network.relay.shaping import Shaper
from emulation.simulation.clients import ClientNodes
from emulation.simulation.links import Direction
from emulation.simulation.overlay_brokers import SimulatedBrokers
from emulation.simulation.overlay_link import SimulatedLink
from emulation.simulation.overlay_links import SimulatedLinks
from record.service_time import ServiceTime
from scenario.workload.operations import OperationKind
from tests.gauntlet import scenarios
from tests.gauntlet.model import Area
from tests.gauntlet.planting import EveryNth, around

LINKS = Area("network links")
FAULTS = Area("faults")

_MS = 1_000_000
_PLAIN = scenarios.TID_LINE.but("a line, links of 20 ms", {"topology.link": {"delay": "20ms"}})
_JITTERY = scenarios.TID_LINE.but("a line, jitter of 5 ms", {"topology.link": {"delay": "20ms", "jitter": "5ms"}})
_NARROW = scenarios.TID_LINE.but("a line, 100 kbit/s", {"topology.link": {"delay": "5ms", "bandwidth": "100kbit"}})
_LOSSY = scenarios.TID_LINE.but("a line, loss of 10%", {"topology.link": {"delay": "5ms", "loss": "10%"}})
_SENDING = scenarios.TID_LINE.but(
    "a line, a send time of 8 ms", {"topology.link": {"delay": "5ms", "send_time": "8ms"}}
)
_DELAY = r"[Dd]elay|slow|fast|late|early|took"


def _properties(change) -> None:
    """Gives every direction of a link other properties than asked for, from the beginning."""

    def init(original, self, properties, opposite, seed):
        original(self, change(properties), opposite, seed)

    around(Direction, "__init__", init)


def _of_link(source: str, target: str, change) -> None:
    """Gives one direction of one link other properties."""

    def init(original, self, link, *rest):
        original(self, link, *rest)
        if source in self.directions and self.other(source) == target:
            self.directions[source].change(change(link.properties_from(source)))

    around(SimulatedLink, "__init__", init)


# Links


@LINKS.row(_PLAIN, r"B\d.*(" + _DELAY + ")")
def all_links_are_30_percent_slower() -> None:
    _properties(lambda asked: replace(asked, delay=asked.delay * 1.3))


@LINKS.row(_PLAIN, r"B\d.*(" + _DELAY + ")")
def all_links_have_half_their_delay() -> None:
    _properties(lambda asked: replace(asked, delay=asked.delay / 2))


@LINKS.row(_PLAIN, r"B3.*B4.*(" + _DELAY + ")")
def one_direction_of_one_link_is_50_percent_slower() -> None:
    _of_link("B3", "B4", lambda asked: replace(asked, delay=asked.delay * 1.5))


@LINKS.row(scenarios.CBF, r"B\d.*(" + _DELAY + ")")
def links_of_a_mesh_have_no_delay() -> None:
    _properties(lambda asked: replace(asked, delay=0.0))


@LINKS.row(_PLAIN, r"B3.*B4.*(" + _DELAY + ")")
def one_link_is_slower_under_load_only() -> None:
    """From the run phase on, when probes before the load have passed."""

    def arrival(original, self, now, size, latency):
        slower = 10 * _MS if now > 3_500 * _MS and "B3" in self._seed and "B4" in self._seed else 0
        return original(self, now, size, latency + slower)

    around(Direction, "arrival", arrival)


@LINKS.row(_JITTERY, r"[Jj]itter|spread")
def jitter_is_missing() -> None:
    _properties(lambda asked: replace(asked, jitter=0.0))


@LINKS.row(_JITTERY, r"[Jj]itter|spread")
def jitter_is_three_times_as_large() -> None:
    _properties(lambda asked: replace(asked, jitter=asked.jitter * 3))


@LINKS.row(_PLAIN, r"[Jj]itter|spread|" + _DELAY)
def jitter_is_there_unasked() -> None:
    _properties(lambda asked: replace(asked, jitter=0.004))


@LINKS.row(_NARROW, r"B\d.*([Rr]ate|[Bb]andwidth|" + _DELAY + ")")
def bandwidth_is_not_limited() -> None:
    _properties(lambda asked: replace(asked, rate=None))


@LINKS.row(_NARROW, r"B\d.*([Rr]ate|[Bb]andwidth|" + _DELAY + ")")
def bandwidth_is_half() -> None:
    _properties(lambda asked: replace(asked, rate=asked.rate / 2))


@LINKS.row(_LOSSY, r"[Ll]oss")
def loss_is_ignored() -> None:
    _properties(lambda asked: replace(asked, loss=0.0))


@LINKS.row(_LOSSY, r"[Ll]oss")
def loss_is_three_times_as_large() -> None:
    _properties(lambda asked: replace(asked, loss=asked.loss * 3))


@LINKS.row(_PLAIN, r"[Ll]oss|" + _DELAY)
def packets_are_lost_unasked() -> None:
    _properties(lambda asked: replace(asked, loss=0.05))


@LINKS.row(_PLAIN, r"(causes|before|negative|below|earlier|" + _DELAY + ")")
def frames_arrive_at_once() -> None:
    around(Direction, "arrival", lambda original, self, now, size, latency: now)


@LINKS.row(_PLAIN, r"B\d.*(" + _DELAY + ")")
def every_fiftieth_frame_is_60_ms_late() -> None:
    late = EveryNth(50)
    around(
        Direction,
        "arrival",
        lambda original, self, now, size, latency: original(self, now, size, latency + (60 * _MS if late() else 0)),
    )


@LINKS.row(_NARROW, r"B\d.*([Rr]ate|[Bb]andwidth|" + _DELAY + ")")
def frames_count_as_half_their_size() -> None:
    around(Shaper, "admit", lambda original, self, now, size: original(self, now, size // 2))


@LINKS.row(_SENDING, r"[Ss]end.?time|[Ss]ending")
def send_times_are_30_percent_longer() -> None:
    _send_times(1.3)


@LINKS.row(_SENDING, r"[Ss]end.?time|[Ss]ending")
def send_times_are_ignored() -> None:
    _send_times(0.1)


def _send_times(factor: float) -> None:
    from broker_service.links.sending import Sending

    def init(original, self, link, draw, turns):
        original(self, link, lambda: round(draw() * factor), turns)

    around(Sending, "__init__", init)


# Faults that do not do what their records say

_LONG = "6s"
_CRASH: dict[str, object] = {"at": "run+1s", "kill": "B4", "for": "2s"}
_DONE_NOTHING = r"({verb}|fault).*(not|no effect|did)|(not|no effect).*({verb}|fault)"


def _owner(method: str) -> type:
    """The class of the simulator that has the method of a fault."""
    return SimulatedBrokers if hasattr(SimulatedBrokers, method) else SimulatedLinks


def _later(method: str, seconds: float) -> None:
    """Has the method of a broker's fault do its work so much later."""

    def act(original, self, broker) -> None:
        self._events.after(seconds, lambda: original(self, broker))

    around(SimulatedBrokers, method, act)


def _does_nothing(name: str, method: str, fault: dict[str, object], base=scenarios.TID_FIXED, heal: str = "") -> None:
    """Adds the row of a fault whose method of the simulator does nothing, nor does what heals it."""
    verb = next(key for key in fault if key not in ("at", "for"))

    def plant() -> None:
        for each in filter(None, (method, heal)):
            around(_owner(each), each, lambda original, self, *arguments: None)

    kind = {"partition": "link_down", "flap": "link_down"}.get(verb, verb)
    FAULTS.add(name, base.suffering(name, fault, run=_LONG), plant, _DONE_NOTHING.format(verb=kind))


_does_nothing("a kill that does not kill", "kill", {"at": "run+1s", "kill": "B4", "for": "2s"}, heal="restart")
_does_nothing("a stop that does not stop", "stop", {"at": "run+1s", "stop": "B4", "for": "2s"}, heal="restart")
_does_nothing("a pause that does not pause", "pause", {"at": "run+1s", "pause": "B4", "for": "2s"}, heal="resume")
_does_nothing("a cut that cuts nothing", "cut", {"at": "run+1s", "link_down": "busiest", "for": "2s"})
_does_nothing(
    "a partition that parts nothing", "cut", {"at": "run+1s", "partition": [["B1", "B2"], "rest"], "for": "2s"}
)
_does_nothing(
    "a flap that flaps nothing", "cut", {"at": "run+1s", "flap": "busiest", "down": "1s", "up": "1s", "for": "4s"}
)
_does_nothing(
    "a degradation that changes nothing", "change", {"at": "run+1s", "degrade": "busiest", "delay": "60ms", "for": "3s"}
)
_does_nothing(
    "corruption that damages nothing", "corrupt", {"at": "run+1s", "corrupt": "busiest", "share": "20%", "for": "3s"}
)
_does_nothing(
    "a slow broker that is not slow", "slow", {"at": "run+1s", "slow": "hub", "service_time": "8ms", "for": "3s"}
)
_does_nothing("a reset that resets nothing", "reset", {"at": "run+1s", "reset": "busiest"})
_does_nothing(
    "a disturbance that disturbs nothing",
    "disturb",
    {"at": "run+500ms", "disturb": "links-of(ib1)", "lose": "10%", "repeat": "10%", "for": "4s"},
    base=scenarios.GRYPHON,
)


@FAULTS.row(
    scenarios.TID_FIXED.suffering("a cut", {"at": "run+1s", "link_down": "B1-B2", "for": "1s"}, run=_LONG),
    r"(link_down|link_up|fault|heal).*(not|late|still)|B1.*B2",
)
def a_cut_that_is_not_healed_when_its_record_says_so() -> None:
    around(
        SimulatedLinks,
        "restore",
        lambda original, self, direction: self._events.after(2.0, lambda: original(self, direction)),
    )


@FAULTS.row(
    scenarios.TID_FIXED.suffering("a crash", {"at": "run+1s", "kill": "B4", "for": "2s"}, run=_LONG),
    r"B4.*(kill|fault|not)|(kill|fault).*B4|B6.*(ended|end|restart|incarnation)",
)
def a_kill_that_hits_another_broker() -> None:
    around(SimulatedBrokers, "kill", lambda original, self, broker: original(self, "B6"))
    around(SimulatedBrokers, "restart", lambda original, self, broker: original(self, "B6"))


@FAULTS.row(
    scenarios.TID_FIXED.suffering("a crash", _CRASH, run=_LONG),
    r"B4.*(kill|fault|late|not)|(kill|fault).*B4",
)
def a_kill_that_comes_half_a_second_after_its_record() -> None:
    _later("kill", 0.5)


@FAULTS.row(
    scenarios.TID_FIXED.suffering(
        "a degradation", {"at": "run+1s", "degrade": "busiest", "delay": "60ms", "for": "4s"}, run=_LONG
    ),
    r"degrade|B\d.*(" + _DELAY + ")",
)
def a_degradation_of_half_the_delay() -> None:
    around(
        SimulatedLinks,
        "change",
        lambda original, self, direction, properties: original(
            self, direction, replace(properties, delay=properties.delay / 2)
        ),
    )


def _does_not_end(name: str, method: str, heal: str, suffering: scenarios.Scenario) -> None:
    """Adds the row of a fault whose method of the simulator sets each target once, so no heal undoes it."""

    def plant() -> None:
        targets: set[object] = set()

        def once(original, self, target, setting):
            if target not in targets:
                targets.add(target)
                original(self, target, setting)

        around(_owner(method), method, once)

    FAULTS.add(name, suffering, plant, rf"{heal} of \S+ at")


_SLOW = {"at": "run+1s", "slow": "hub", "service_time": "8ms", "for": "1500ms"}
_DISTURBED = {"at": "run+500ms", "disturb": "links-of(ib1)", "repeat": "30%", "for": "1s"}
_DEGRADED = {"at": "run+1s", "degrade": "busiest", "delay": "60ms", "for": "1500ms"}
_does_not_end(
    "a slow broker that stays slow",
    "slow",
    "full_speed",
    scenarios.TID_FIXED.suffering("short slowness", _SLOW, run=_LONG),
)
_does_not_end(
    "a disturbance that does not end",
    "disturb",
    "undisturb",
    scenarios.GRYPHON.suffering("a short disturbance", _DISTURBED, run=_LONG),
)
_does_not_end(
    "a degradation that does not end",
    "change",
    "recover",
    scenarios.TID_FIXED.suffering("a short degradation", _DEGRADED, run=_LONG),
)


@FAULTS.row(
    scenarios.TID_FIXED.suffering(
        "slowness", {"at": "run+1s", "slow": "hub", "service_time": "8ms", "for": "4s"}, run=_LONG
    ),
    r"slow|[Ss]ervice",
)
def a_slow_broker_that_is_slow_by_half() -> None:
    def slow(original, self, broker, service_time):
        halved = None if service_time is None else ServiceTime(mean=service_time.mean / 2)
        original(self, broker, halved)

    around(SimulatedBrokers, "slow", slow)


@FAULTS.row(scenarios.TID_FIXED, r"B5|ended|incarnation")
def a_broker_that_crashes_and_comes_back_unplanned() -> None:
    _in_the_run_phase(lambda overlay: overlay.brokers.kill("B5"), 0.5, lambda overlay: overlay.brokers.restart("B5"))


@FAULTS.row(scenarios.TID_FIXED, r"B5.*(started|restart)")
def a_broker_that_stops_and_comes_back_unplanned() -> None:
    _in_the_run_phase(lambda overlay: overlay.brokers.stop("B5"), 0.5, lambda overlay: overlay.brokers.restart("B5"))


@FAULTS.row(scenarios.TID_FIXED, r"B1-B2 broke")
def a_link_that_is_cut_and_comes_back_unplanned() -> None:
    _in_the_run_phase(
        lambda overlay: overlay.links.between("B1", "B2").cut("B1"),
        4.0,
        lambda overlay: overlay.links.between("B1", "B2").restore("B1"),
    )


def _in_the_run_phase(fail, seconds, come_back) -> None:
    """Has something fail half a second after the first publication, and come back so much later.

    A call that waits from the start on would keep the overlay from settling, and come before clients join.
    """
    publications = 0

    def issue(original, self, operation, intended):
        nonlocal publications
        original(self, operation, intended)
        if operation.kind is OperationKind.PUBLISH:
            publications += 1
            if publications == 1:
                overlay = self._overlay
                overlay.events.after(0.5, lambda: fail(overlay))
                overlay.events.after(0.5 + seconds, lambda: come_back(overlay))

    around(ClientNodes, "issue", issue)


@FAULTS.row(scenarios.TID_FIXED.suffering("a crash", _CRASH, run=_LONG), r"restart of B4.*(not|incarnation|process)")
def a_restart_that_does_nothing() -> None:
    around(SimulatedBrokers, "restart", lambda original, self, broker: None)


@FAULTS.row(scenarios.TID_FIXED.suffering("a crash", _CRASH, run=_LONG), r"restart of B4")
def a_restart_that_comes_a_second_after_its_record() -> None:
    _later("restart", 1.0)
