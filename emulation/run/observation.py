"""Measures links, relay and host, before and during the load."""

from __future__ import annotations

import itertools
import os
import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Self

from emulation.fidelity import Measurements, ObservedInterval, Relayed
from emulation.fidelity.carried_frames import CarriedDirection
from emulation.fidelity.host import HostSample, own_share, processor_times, sample, use
from emulation.fidelity.throttling import count_host_periods, host_throttling
from emulation.host.processes import processes_of_run
from emulation.network.model import NetworkError
from emulation.network.network import EmulatedNetwork
from emulation.network.probing.probes import LinkProbe
from emulation.network.relay.messages import Punctuality
from emulation.network.relay_statistics import lateness_percentile
from record.fidelity import LinkCheck
from record.time_units import SECOND
from topology.link_properties import BrokerId, Link, LinkProperties

_INTERVAL = 1.0
"""Seconds between two looks at host and relay."""
_PROBE_AFTER = 0.35
"""Share of the run phase after which links are probed for the first time, unless `PROBE_INTERVAL` comes earlier."""
PROBE_INTERVAL = 5.0
"""Seconds from the begin of one round of probes to the next."""
ROUND_TAKES = 2.5
"""Seconds that a round of probes may take. None is begun, after the first, that could outlast the run phase."""
DOUBT_INTERVAL = 2.0
"""Seconds from the begin of one round to the next while a direction was outside its tolerance: its link is probed
again, because one such measurement proves nothing."""
AGAIN = 5
"""Rounds in which a link that was outside its tolerance is probed again."""
LINKS_AT_ONCE = 20
"""Links probed in a round: probing all of a large overlay at once would be a load of its own. Rounds take links in
turn, so that all have been probed when the run phase is long enough."""
MOST_SAMPLED = 300
"""Number of links up to which all are probed under load. A larger overlay is sampled, because many of its links may
never carry a message."""


def link_checks(
    probes: Iterable[LinkProbe], phase: str, dilation: float, second: float | None = None
) -> list[LinkCheck]:
    """Probes as the fidelity verdict keeps them, in the scenario's time."""
    return [
        LinkCheck(
            a=probe.a,
            b=probe.b,
            phase=phase,
            ok=probe.ok,
            detail=probe.detail + (f" (at a dilation of {dilation:g})" if probe.detail and dilation != 1 else ""),
            delay_asked=probe.delay_asked / dilation,
            delay_measured=None if probe.delay_measured is None else probe.delay_measured / dilation,
            rate_asked=None if probe.rate_asked is None else probe.rate_asked * dilation,
            rate_measured=None if probe.rate_measured is None else probe.rate_measured * dilation,
            loss_asked=probe.loss_asked,
            loss_measured=probe.loss_measured,
            jitter_asked=probe.jitter_asked / dilation,
            jitter_measured=None if probe.jitter_measured is None else probe.jitter_measured / dilation,
            second=second,
        )
        for probe in probes
    ]


def probed_under_load(
    links: Sequence[Link], used: Callable[[], Collection[frozenset[BrokerId]]], seed: int
) -> list[Link]:
    """The links to probe while they are loaded: all, or of more than `MOST_SAMPLED` a seeded sample and all used ones.

    `used` returns the ends of links that have carried messages; it is called only where links are sampled.
    """
    if len(links) <= MOST_SAMPLED:
        return list(links)
    drawn = set(random.Random(f"{seed}:probes").sample(range(len(links)), MOST_SAMPLED))
    carrying = used()
    return [link for number, link in enumerate(links) if number in drawn or {link.a, link.b} in carrying]


def rounds(links: Sequence[Link], at_once: int) -> list[list[Link]]:
    """The links in as few rounds as can be, each spread over the whole sequence."""
    count = -(-len(links) // at_once)
    return [list(links[number::count]) for number in range(count)]


@dataclass(frozen=True, slots=True)
class _Look:
    """Counters at a moment."""

    host: HostSample
    relay: Punctuality | None


class LoadObserver:
    """Looks at host and relay every second, and probes links in turn, in threads of its own, while it is entered."""

    def __init__(
        self,
        network: EmulatedNetwork,
        links: Sequence[Link],
        run_id: str,
        *,
        seconds: float,
        dilation: float,
        steady: Mapping[tuple[BrokerId, BrokerId], LinkProperties],
    ) -> None:
        """`seconds` is how long the run phase lasts, as they pass; `steady` are the directions that are not to change
        in it."""
        self._steady = steady
        self._network = network
        self._begin = time.monotonic()
        # First of all: what holds the relay up while the rest is asked for is in the next look.
        self._looks = [self._look()]
        self._rounds = rounds(links, LINKS_AT_ONCE)
        self._probe_after = min(seconds * _PROBE_AFTER, PROBE_INTERVAL)
        self._dilation = dilation
        self._last_round = seconds - ROUND_TAKES
        self._checks: list[LinkCheck] = []
        self._again: dict[frozenset[BrokerId], int] = {}
        """Links of which a direction has missed, and the number of rounds in which each is to be probed again."""
        self._failure: NetworkError | None = None
        self._over = threading.Event()
        self._carried = network.relay_statistics()
        self._periods = count_host_periods(os.getpid())
        self._run_id = run_id
        self._used = self._processor_times()
        self._threads = [
            threading.Thread(target=self._look_regularly, name="host sampler", daemon=True),
            threading.Thread(target=self._probe_regularly, name="link prober", daemon=True),
        ]

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        for thread in self._threads:
            thread.join()

    def report(self, measured: Measurements) -> None:
        """Adds what was observed. Raises `NetworkError` when links could not be probed, or the relay did not answer."""
        if self._failure is not None:
            raise self._failure
        measured.host = use([look.host for look in self._looks])
        seconds = self._looks[-1].host.time - self._begin
        measured.own_cpu = own_share(self._used, self._processor_times(), seconds)
        measured.host_throttled = host_throttling(self._periods, count_host_periods(os.getpid()))
        measured.intervals = [self._interval(*pair) for pair in itertools.pairwise(self._looks)]
        measured.links += self._checks
        measured.relay = self._relayed()
        measured.carried = self._carried_frames()

    def _relayed(self) -> Relayed | None:
        """The relay's work since the begin of the phase; frames that it carried before do not count."""
        carried = self._network.relay_statistics()
        if carried is None or self._carried is None:
            return None
        whole = self._interval(self._looks[0], self._looks[-1])
        return Relayed(
            frames=carried.frames - self._carried.frames,
            missed=carried.unread - self._carried.unread,
            held_up=whole.relay_held_up or 0.0,
            priority=carried.priority,
        )

    def _carried_frames(self) -> list[CarriedDirection]:
        """The frames of each direction since the begin of the phase; none without a relay or with changes of links."""
        carried = self._network.relay_statistics()
        if carried is None or self._carried is None:
            return []
        found = []
        for pair, now in carried.directions.items():
            earlier, asked = self._carried.directions.get(pair), self._steady.get(pair)
            if earlier is not None and asked is not None:
                lost = now.lost - earlier.lost
                passed = (now.frames + now.queue_full) - (earlier.frames + earlier.queue_full)
                found.append(CarriedDirection(*pair, asked.loss, passed + lost, lost))
        return found

    def _processor_times(self) -> dict[int, float]:
        """Processor time, by pid, of the emulator and of all processes that it or its runtime started."""
        return processor_times([os.getpid(), *(process.pid for process in processes_of_run(self._run_id))])

    def _interval(self, earlier: _Look, later: _Look) -> ObservedInterval:
        seconds = later.host.time - earlier.host.time
        late = held_up = None
        if earlier.relay is not None and later.relay is not None and seconds > 0:
            frames = Counter(later.relay.lateness)
            frames.subtract(earlier.relay.lateness)
            late = lateness_percentile(+frames, 0.99)
            held_up = min(1.0, (later.relay.held_up - earlier.relay.held_up) / SECOND / seconds)
        begin, end = earlier.host.time - self._begin, later.host.time - self._begin
        return ObservedInterval(begin, end, use([earlier.host, later.host]), late, held_up)

    def _look_regularly(self) -> None:
        try:
            while not self._over.wait(_INTERVAL):
                self._looks.append(self._look())
            self._looks.append(self._look())
        except NetworkError as error:
            self._failure = error

    def _look(self) -> _Look:
        return _Look(sample(), self._network.punctuality())

    def _doubtful(self, links: Sequence[Link]) -> list[Link]:
        """Links that are to be probed again, besides those whose turn it is."""
        turn = {frozenset((link.a, link.b)) for link in links}
        everyone = (link for batch in self._rounds for link in batch)
        wanted = [
            link for link in everyone if self._again.get(ends := frozenset((link.a, link.b))) and ends not in turn
        ]
        return wanted[:LINKS_AT_ONCE]

    def _note_doubt(self, probes: Sequence[LinkProbe]) -> None:
        missed = {frozenset((probe.a, probe.b)) for probe in probes if not probe.ok}
        for ends in {frozenset((probe.a, probe.b)) for probe in probes}:
            if ends in self._again:
                self._again[ends] = max(0, self._again[ends] - 1)
            elif ends in missed:
                self._again[ends] = AGAIN

    def _probe_regularly(self) -> None:
        due = self._begin + self._probe_after
        try:
            for links in itertools.cycle(self._rounds):
                if self._over.wait(max(0.0, due - time.monotonic())):
                    return
                begin = time.monotonic()
                probes = self._network.probe_under_load([*links, *self._doubtful(links)])
                self._checks += link_checks(probes, "during", self._dilation, (begin - self._begin) / self._dilation)
                self._note_doubt(probes)
                due = begin + (DOUBT_INTERVAL if any(self._again.values()) else PROBE_INTERVAL)
                if due - self._begin > self._last_round:
                    return
        except NetworkError as error:
            self._failure = error


def directions_of(links: Iterable[Link]) -> dict[tuple[BrokerId, BrokerId], LinkProperties]:
    """The properties of both directions of links, by their ends."""
    return {
        ends: properties
        for link in links
        for ends, properties in (((link.a, link.b), link.forward), ((link.b, link.a), link.backward))
    }
