"""Answers that the logs of both ends give to questions about planned faults.

1. A broker that is down or paused writes nothing. Clients that are away or paused take no notification.
2. A broker that resets a stream logs that the link is down, if it was up. A stream ends with its broker's process,
   which may be killed before it logs anything.
3. Of the messages that come over a disturbed direction, the shares that were asked have each fate, within the interval
   in which one honest run in a million is found wrong. A message that was lost is not handled then, one that was
   repeated is handled twice, and one that is held back is not handled before its time.
4. From the time at which a message left the neighbour, or the client, to its turn at a slow broker, at least the link's
   delay and the service time pass on average. More may pass, because messages wait. At a broker that is slow no more,
   a message waits less than that between its arrival from the link, which may be late by any jitter, and its turn.
5. A change that a look found missing was not recorded longer before than it may take until it can be seen.
"""

from __future__ import annotations

import bisect
import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from io import BufferedReader
from pathlib import Path

import msgspec

from broker_service.core.disturber import HELD, LOST, REPEATED
from emulation.network.probing.tolerance import loss_interval
from emulation.verification.findings import (
    ClientSilence,
    Disturbing,
    Finding,
    Promptness,
    Question,
    Serving,
    ServingAgain,
    Silence,
    StreamReset,
)
from record.files import LONGEST_LINE, log_file, log_files, open_log
from record.log import EMULATOR, FAULT_CHANGES, Event
from record.service_time import Distribution, ServiceTime
from record.time_units import MILLISECOND, SECOND
from record.wording import count_of

_CONFIDENCE = 0.999999
_ENOUGH = 0.001
"""Chance that a disturbance as asked hits none of the messages that came, below which that is taken for a fault."""
_AT_ONCE = MILLISECOND
"""Time within which a message that was disturbed is handled, unless it is lost or held back."""
_SHORTER = 0.02
"""Share by which a mean may be shorter than asked, besides its standard error."""
_STANDARD_ERRORS = 5
_FEWEST_SERVED = 5


class _Line(msgspec.Struct):
    """The fields of a record that are used here."""

    time: int
    variant: str
    event: str
    id: str | None = None
    peer: str | None = None
    text: str | None = None
    duration: int = 0
    kind: str | None = None
    arrived: int | None = None
    client: str | None = None


@dataclass(frozen=True, slots=True)
class RecordReader:
    """Reads the logs of one variant; a log that is asked for often is read once."""

    directory: Path
    variant: str
    read: Callable[[str], Sequence[_Line]] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "read", cache(self._read))

    def _read(self, node: str) -> Sequence[_Line]:
        """The readable records of a node; none of one without a log that can be read."""
        try:
            with open_log(log_file(self.directory, node)) as log:
                return list(self._lines(log))
        except OSError:
            return ()

    def _lines(self, log: BufferedReader) -> Iterator[_Line]:
        decoder = msgspec.json.Decoder(_Line)
        for text in iter(partial(log.readline, LONGEST_LINE), b""):
            try:
                line = decoder.decode(text)
            except msgspec.DecodeError:
                continue  # torn lines are another check's
            if line.variant == self.variant:
                yield line

    def fault_changes(self) -> Sequence[_Line]:
        """The records of faults and heals, of all hosts."""
        logs = [path.stem for path in log_files(self.directory) if path.stem.partition("@")[0] == EMULATOR]
        return [line for node in logs for line in self.read(node) if line.event in FAULT_CHANGES]

    def of_clients(self) -> Iterator[_Line]:
        """The records of all nodes that act for clients."""
        for path in log_files(self.directory):
            if path.stem.startswith(("publishers", "subscribers")):
                yield from self.read(path.stem)

    def published(self) -> Mapping[str, int]:
        """The times at which publications were handed over, by their ids."""
        found: dict[str, int] = {}
        for path in log_files(self.directory):
            if path.stem.startswith("publishers"):
                lines = self.read(path.stem)
                found |= {line.id: line.time for line in lines if line.event == Event.PUBLISH and line.id}
        return found


def answers(questions: Iterable[Question], directory: Path, variant: str) -> list[Finding]:
    """Answers questions about a variant from the logs in a directory."""
    records = RecordReader(directory, variant)
    return [_answer(question, records) for question in questions]


def _answer(question: Question, records: RecordReader) -> Finding:
    match question:
        case Promptness():
            return _prompt(question, records)
        case Silence() | ClientSilence():
            if isinstance(question, Silence):
                finding = _silence(question, records)
            else:
                finding = _client_silence(question, records)
            return finding
        case StreamReset():
            return _reset(question, records)
        case Disturbing():
            return _disturbed(question, records)
        case Serving():
            return _served(question, records)
        case ServingAgain():
            return _served_again(question, records)


def _prompt(asked: Promptness, records: RecordReader) -> Finding:
    source, _, end = asked.target.partition("->")
    names = {asked.target, f"{source}-{end}", f"{end}-{source}"}
    done = [
        line.time if line.event == Event.HEALED else line.time + line.duration
        for line in records.fault_changes()
        if line.text == asked.kind and line.peer in names
    ]
    recorded = min((time for time in done if time >= asked.planned), default=asked.missing)
    if asked.missing <= recorded + asked.takes:
        return asked.finding
    late = (asked.missing - recorded) / SECOND
    return replace(asked.finding, wrong=f"{late:.2f} s after its record it was not so: {asked.seen}")


def _silence(asked: Silence, records: RecordReader) -> Finding:
    # A wait is recorded when it begins, with the time at which it will end.
    lines = [line for line in records.read(asked.broker) if line.event != Event.WAITED]
    found = [line for line in lines if asked.begin < line.time < asked.end]
    if not lines:
        return replace(asked.finding, unverified="the broker has no log")
    if not found:
        return asked.finding
    first = min(found, key=lambda line: line.time)
    after = (first.time - asked.begin) / SECOND
    return replace(
        asked.finding, wrong=f"it wrote {len(found)} records meanwhile, the first ({first.event}) {after:.2f} s later"
    )


def _client_silence(asked: ClientSilence, records: RecordReader) -> Finding:
    taken = [
        line
        for line in records.of_clients()
        if line.client in asked.clients and line.event == Event.NOTIFIED and asked.begin < line.time < asked.end
    ]
    if not taken:
        return asked.finding
    first = min(taken, key=lambda line: line.time)
    after = (first.time - asked.begin) / SECOND
    return replace(
        asked.finding, wrong=f"its clients took {len(taken)} notifications meanwhile, the first {after:.2f} s later"
    )


def _reset(asked: StreamReset, records: RecordReader) -> Finding:
    source, target, end = asked.direction.source, asked.direction.target, asked.time + asked.within
    lines = records.read(source)
    changes = [
        line
        for line in lines
        if (line.event in {Event.LINK_UP, Event.LINK_DOWN} and line.peer == target) or line.event == Event.STARTED
    ]
    before = [line for line in changes if line.time < asked.time]
    meanwhile = {line.event for line in changes if asked.time <= line.time <= end}
    if Event.LINK_DOWN in meanwhile:
        return asked.finding
    if not before or before[-1].event != Event.LINK_UP:
        return replace(asked.finding, unverified="the link was not up")
    if Event.STARTED in meanwhile:
        return replace(asked.finding, unverified=f"{source} was down at that time")
    if asked.on_demand:
        return replace(asked.finding, unverified="the link may have rested")
    if not any(asked.time <= line.time <= end for line in lines):
        return replace(asked.finding, unverified=f"{source} wrote nothing at that time")
    return replace(asked.finding, wrong=f"the stream of {source} to {target} stayed open")


# Disturbed messages


def _disturbed(asked: Disturbing, records: RecordReader) -> Finding:
    source, target = asked.direction.source, asked.direction.target
    lines = [line for line in records.read(target) if line.peer == source and asked.begin <= line.time < asked.end]
    handled = [line for line in lines if line.event == Event.RECEIVED]
    fates = Counter(line.text for line in lines if line.event == Event.DISTURBED)
    came = len(handled) + fates[LOST] - fates[REPEATED]
    wanted = asked.disturbance
    if asked.sampled:
        return replace(asked.finding, unverified="" if fates else "the log has a sample of the messages")
    wrong = []
    for fate, share in ((LOST, wanted.lose), (REPEATED, wanted.repeat), (HELD, wanted.hold)):
        low, high = loss_interval(came, share, _CONFIDENCE) if came else (0, 0)
        # Messages that are held back at the begin or at the end are handled on the other side of it.
        edge = fates[HELD]
        if not low - edge <= fates[fate] <= high + edge:
            wrong.append(f"{fates[fate]} of {came} messages were {fate} instead of {low} to {high}")
    wrong += _fates_without_effect(asked, lines, records)
    if wrong:
        return replace(asked.finding, wrong=", ".join(wrong))
    if not fates and (1 - wanted.lose - wanted.repeat - wanted.hold) ** came > _ENOUGH:
        return replace(asked.finding, unverified=f"{count_of(came, 'message')} came, too few to tell")
    return asked.finding


def _fates_without_effect(asked: Disturbing, lines: Sequence[_Line], records: RecordReader) -> Iterator[str]:
    """Fates that most of the messages that had them did not suffer.

    Messages without an id are left out, because several of them may have their turn at one time, and so are those that
    were sent more than once, because another copy may have come beside the disturbed one. Their number is held to what
    was asked for, as that of all others is.
    """
    source, target = asked.direction.source, asked.direction.target
    sent = Counter(
        (line.id, line.kind) for line in records.read(source) if (line.event, line.peer) == (Event.SENT, target)
    )
    turns: dict[tuple[str | None, str | None], list[int]] = defaultdict(list)
    for line in records.read(target):
        if line.event == Event.RECEIVED and line.peer == source:
            turns[line.id, line.kind].append(line.time)
    untouched: Counter[str] = Counter()
    disturbed = [
        line
        for line in lines
        if line.event == Event.DISTURBED and line.text is not None and line.id and sent[line.id, line.kind] <= 1
    ]
    for line in disturbed:
        times = turns[line.id, line.kind]
        soon = bisect.bisect_right(times, line.time + _AT_ONCE) - bisect.bisect_left(times, line.time)
        match line.text:
            case text if text == LOST and not line.duration:
                untouched[LOST] += soon > 0
            case text if text == REPEATED:
                untouched[REPEATED] += soon < 2
            case text if text == HELD:
                untouched[HELD] += soon > 0 and line.duration > _AT_ONCE
    fates = Counter(line.text for line in disturbed)
    for fate, number in untouched.items():
        if number > fates[fate] / 2:
            yield f"{number} of {fates[fate]} messages that were {fate} by the log were not"


# Served messages


def _served(asked: Serving, records: RecordReader) -> Finding:
    took = list(_transits(asked, records))
    if len(took) < (1 if asked.service_time.distribution is Distribution.CONSTANT else _FEWEST_SERVED):
        return replace(asked.finding, unverified=f"{len(took)} messages were served, too few to tell")
    mean, least = sum(took) / len(took), _least_mean(asked.service_time, len(took))
    if mean >= least:
        return asked.finding
    wanted = asked.service_time.mean * 1e3
    return replace(
        asked.finding, wrong=f"{len(took)} messages were served within {mean * 1e3:.2f} ms on average, not {wanted:.2f}"
    )


def _served_again(asked: ServingAgain, records: RecordReader) -> Finding:
    took = list(_waits(asked, records))
    if len(took) < _FEWEST_SERVED or asked.slowed.distribution is not Distribution.CONSTANT:
        return replace(asked.finding, unverified=f"{len(took)} messages were served, too few to tell")
    slowed = asked.slowed.mean
    if min(took) < slowed * (1 - _SHORTER):
        return asked.finding
    return replace(asked.finding, wrong=f"each of {len(took)} messages still took {slowed * 1e3:.2f} ms or longer")


def _waits(asked: ServingAgain, records: RecordReader) -> Iterator[float]:
    """Seconds from the arrival of a neighbour's message to its turn at the broker.

    A message that arrived before the begin may have been served at the former pace.
    """
    for line in records.read(asked.broker):
        if line.event == Event.RECEIVED and line.peer in asked.neighbours and line.time < asked.end:
            arrived = line.time if line.arrived is None else line.arrived
            if arrived >= asked.begin:
                yield (line.time - arrived) / SECOND


def _transits(asked: Serving, records: RecordReader) -> Iterator[float]:
    """Seconds from leaving a neighbour or a client to the turn at the broker, less the link's delay."""
    # Control messages have no identity, so that nothing tells which of those that left is the one that was served.
    served = [
        line
        for line in records.read(asked.broker)
        if line.event == Event.RECEIVED and asked.begin <= line.time < asked.end and line.id
    ]
    handed_over = records.published() if any(line.peer is None for line in served) else {}
    left: dict[tuple[str | None, str | None, str | None], list[int]] = defaultdict(list)
    for peer in {line.peer for line in served if line.peer in asked.delays}:
        for line in records.read(str(peer)):
            if line.event == Event.SENT and line.peer == asked.broker:
                left[peer, line.id, line.kind].append(line.time)
    for line in served:
        if line.peer is None:
            sent, delay = handed_over.get(line.id or ""), 0.0
        else:
            times, delay = left.get((line.peer, line.id, line.kind), []), asked.delays.get(line.peer, 0.0)
            # One that left within the link's delay is still on its way. Of several that may have arrived, nothing tells
            # which was served.
            arrived = bisect.bisect_right(times, line.time - round(delay * SECOND))
            sent = times[0] if arrived == 1 else None
        if sent is not None and sent >= asked.begin:
            yield (line.time - sent) / SECOND - delay


def _least_mean(service_time: ServiceTime, served: int) -> float:
    """The shortest mean in seconds that chance explains."""
    mean = service_time.mean
    match service_time.distribution:
        case Distribution.CONSTANT:
            deviation = 0.0
        case Distribution.UNIFORM:
            deviation = service_time.deviation / math.sqrt(3)
        case Distribution.EXPONENTIAL:
            deviation = mean
        case Distribution.LOGNORMAL:
            deviation = service_time.deviation
    return mean * (1 - _SHORTER) - _STANDARD_ERRORS * deviation / math.sqrt(served)
