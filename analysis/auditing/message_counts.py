"""The checks that both ends of each passage count the same messages.

1. Broker to broker: what A sent to B is what B received from A. A message that did not arrive is in the record of a
   drop, of a message that A took back, or of a disturbance at B; or it was on its way when the brokers stopped: sent
   after clients had left or, where the drain was too short for what moved, among the last that A sent. A fault on the
   link or at one of its ends may leave as many in flight as the window of a link has room for. A broker that was killed
   may not have logged its last messages.
2. Client to broker: what clients published at B is what B received from clients, or the driver rejected itself.
3. Broker to client: what B delivered to clients is what they were notified of.

Where the drain was too short, what waits for the rate of an access link may be any number of messages, so that brokers
with such a link are held by rules 2 and 3 to have received no more than was sent.

Brokers that do not state how many records they wrote are left out, because they may log less than this asks for.
Rules 2 and 3 leave out brokers whose sessions with clients broke, because publications are then submitted again, and
notifications are lost, as the protocol of clients has it; and those with whom client programs ended streams.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping

from analysis.auditing.evidence import Evidence
from analysis.auditing.finding import none_allowed, unmeasured
from analysis.auditing.passages import AtBroker, Direction, passages_of
from analysis.reading.intervals import FOREVER
from record.faults import FaultKind
from record.fidelity import Check
from record.wording import count_of

LINKS, PUBLICATIONS, NOTIFICATIONS = (
    "messages sent and not received, or received and not sent",
    "publications handed over and not received",
    "notifications delivered and not received",
)
WINDOW = 128
"""Messages that a link has in flight at most, where the scenario states no other number."""


def message_counts(evidence: Evidence) -> Iterable[Check]:
    """The checks of one variant."""
    brokers = {broker.id for broker in evidence.overlay.brokers}
    found = passages_of(evidence.logs.messages, evidence.number, brokers)
    killed, troubled = _troubles(evidence)
    logged = _whole_logs(evidence) | killed.keys()
    directions = {ends: counted for ends, counted in found.directions.items() if logged.issuperset(ends)}
    yield _links(evidence, directions, killed, troubled)
    if evidence.variant.sample:
        for name in (PUBLICATIONS, NOTIFICATIONS):
            yield unmeasured(name, "brokers", "brokers log a sample of publications")
        return
    undrained = evidence.variant.undrained or evidence.variant.interrupted
    broken = killed.keys() | _sessions_broken(evidence)
    whole = {broker: counted for broker, counted in found.at_brokers.items() if broker in logged - broken}
    narrow = {site.broker for site in evidence.sites if site.reads_slowly or (undrained and site.holds_messages)}
    yield _publications(whole, narrow, undrained=undrained)
    yield _notifications(whole, narrow, undrained=undrained)


def _whole_logs(evidence: Evidence) -> set[str]:
    """The nodes that state how many records they wrote: brokers of other implementations may log less than ours."""
    return {
        found.node
        for found in evidence.logs.extents.incarnations()
        if found.variant == evidence.number and found.stated is not None
    }


def _sessions_broken(evidence: Evidence) -> set[str]:
    """Brokers to which a driver lost its session, or with which a client program ended its own, before clients left."""
    number, logs = evidence.number, evidence.logs
    stop = FOREVER if evidence.variant.stop is None else evidence.variant.stop
    lost = (event for event in logs.outages if event.node and event.begins)
    broken = {event.target for event in lost if event.variant == number and event.at.time < stop}
    return broken | {ended.broker for ended in logs.ended_streams if ended.variant == number and ended.time < stop}


def _troubles(evidence: Evidence) -> tuple[dict[str, int], set[frozenset[str]]]:
    """The number of times that each broker was killed; and the links, by their ends, whose streams broke or that had a
    fault before clients left. A fault of a broker is one of all its links."""
    killed: dict[str, int] = defaultdict(int)
    troubled: set[frozenset[str]] = set()
    stop = evidence.variant.stop
    for fault in evidence.logs.outages:
        if fault.variant != evidence.number or fault.node or not fault.begins:
            continue
        killed[fault.target] += fault.kind == FaultKind.KILL
        ends = fault.target.replace("->", "-").split("-") if fault.kind not in _OF_BROKERS else [fault.target]
        troubled.add(frozenset(ends))
    for change in evidence.logs.neighbours:
        if change.variant == evidence.number and not change.up and (stop is None or change.at.time < stop):
            troubled.add(frozenset((change.node, change.neighbour)))
    return {broker: times for broker, times in killed.items() if times}, troubled


_OF_BROKERS = frozenset({FaultKind.KILL, FaultKind.STOP, FaultKind.PAUSE, FaultKind.SLOW, FaultKind.THROTTLE})


def _links(
    evidence: Evidence,
    directions: Mapping[tuple[str, str], Direction],
    killed: Mapping[str, int],
    troubled: set[frozenset[str]],
) -> Check:
    wrong: list[str] = []
    window, undrained = _window(evidence), evidence.variant.undrained or evidence.variant.interrupted
    for (source, target), found in sorted(directions.items()):
        kills = killed.get(source, 0) + killed.get(target, 0)
        had_trouble = bool({frozenset((source, target)), frozenset((source,)), frozenset((target,))} & troubled)
        allowed = found.sent.on_its_way(undrained=undrained) + found.ended + found.held
        allowed += window * (had_trouble + undrained + 2 * kills)
        missing = found.sent.all - (found.received - found.repeated + found.lost)
        unsent = 0 if killed.get(source) else -missing
        if missing > allowed or unsent > found.held:
            wrong.append(f"{source} sent {found.sent.all:,} to {target}, which received {found.received:,}")
    return none_allowed(
        LINKS, "link directions", wrong,
        meaning="the logs of both ends contradict each other, so messages were lost by the link, or records by a log",
        otherwise=f"both ends of {len(directions):,} link directions agree",
    )  # fmt: skip


def _publications(at_brokers: Mapping[str, AtBroker], narrow: Container[str], *, undrained: bool) -> Check:
    wrong = []
    for broker, found in sorted(at_brokers.items()):
        by_drivers = max(0, found.rejected_by_driver - found.rejected_by_broker)
        missing = found.published.all - found.received - by_drivers
        too_many = broker not in narrow and missing > found.published.on_its_way(undrained=undrained)
        if too_many or missing < 0:
            wrong.append(f"clients published {found.published.all:,} at {broker}, which received {found.received:,}")
    return none_allowed(
        PUBLICATIONS, "brokers", wrong,
        meaning="the logs of clients and broker contradict each other, so records of one of them are missing",
        otherwise=f"clients and brokers agree at {count_of(len(at_brokers), 'broker')}",
    )  # fmt: skip


def _notifications(at_brokers: Mapping[str, AtBroker], narrow: Container[str], *, undrained: bool) -> Check:
    wrong = []
    for broker, found in sorted(at_brokers.items()):
        for what, delivered, notified in (
            ("notifications", found.delivered, found.notified),
            ("detections", found.detections_delivered, found.detections_notified),
        ):
            on_its_way = delivered.on_its_way(undrained=undrained) + found.dropped
            too_many = broker not in narrow and delivered.all - notified > on_its_way
            if too_many or notified > delivered.all:
                wrong.append(f"{broker} delivered {delivered.all:,} {what}, and clients logged {notified:,}")
    return none_allowed(
        NOTIFICATIONS, "brokers", wrong,
        meaning="notifications are missing from one of the logs, so what seems lost may have arrived",
        otherwise=f"clients and brokers agree at {count_of(len(at_brokers), 'broker')}",
    )  # fmt: skip


def _window(evidence: Evidence) -> int:
    """The largest number of messages in flight on a link that the scenario, or its variant, allows."""
    return max(_stated(evidence.scenario, "brokers", "limits", "window"), *_settings(evidence), WINDOW)


def _settings(evidence: Evidence) -> Iterator[int]:
    yield 0
    value = evidence.variant.settings.get("brokers.limits.window")
    if isinstance(value, int):
        yield value


def _stated(value: object, *path: str) -> int:
    for field_name in path:
        value = value.get(field_name) if isinstance(value, Mapping) else None
    return value if isinstance(value, int) else 0
