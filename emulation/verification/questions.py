"""Questions about planned faults that only the logs of a run answer."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from emulation.verification.asked import BrokerState, ClientsState, DirectionState, Expectation, LinksOverTime, Stage
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
from emulation.verification.inquiry import Inquiry, takes
from emulation.verification.seen import FaultObserver
from record.faults import FaultKind, HealKind
from record.time_units import SECOND
from topology.link_properties import BrokerId, LinkDirection
from topology.model import MeshLinks


def asked_of_looks(inquiries: Iterable[Inquiry], observer: FaultObserver, start: int) -> Iterator[Question]:
    """Questions that follow from looks: whether what was seen lasted, and came when the record says."""
    for inquiry in inquiries:
        asked, end = inquiry.asked, inquiry.stage.end
        idle = asked if isinstance(asked, ClientsState) and (asked.paused or asked.away is not None) else None
        if idle is not None and inquiry.agreed_at is not None and end is not None:
            yield ClientSilence(
                finding=Finding(change=inquiry.change.text, at=inquiry.stage.begin),
                clients=frozenset(idle.clients), begin=inquiry.agreed_at, end=start + end,
            )  # fmt: skip
        silent = isinstance(asked, BrokerState) and (asked.paused or asked.down is not None)
        if silent and inquiry.agreed_at is not None and end is not None:
            yield Silence(
                finding=Finding(change=inquiry.change.text, at=inquiry.stage.begin),
                broker=str(inquiry.stage.target), begin=inquiry.agreed_at, end=start + end,
            )  # fmt: skip
        yield from _promptness(inquiry, observer, start)


def _promptness(inquiry: Inquiry, observer: FaultObserver, start: int) -> Iterator[Promptness]:
    if inquiry.missing is None or inquiry.agreed_at is None or inquiry.wrong or inquiry.change.kind is None:
        return
    missing, seen = inquiry.missing
    allowed = takes(observer, inquiry.change.kind)
    if isinstance(inquiry.asked, DirectionState):
        # Other frames may disturb probes, so that one look and its repetition may be wrong.
        allowed += 2 * (observer.look_takes + observer.looks_again if observer.look_takes else 0.0)
    yield Promptness(
        finding=Finding(change=inquiry.change.text, at=inquiry.stage.begin), target=str(inquiry.stage.target),
        kind=inquiry.change.kind, missing=missing, seen=seen, planned=start + inquiry.stage.begin,
        takes=round(allowed * SECOND),
    )  # fmt: skip


class LogQuestions:
    """Questions about streams that break, and messages disturbed or served, of which looks see nothing."""

    def __init__(self, links: LinksOverTime, *, end: int, own_service: float, sampled: bool) -> None:
        """`end` is that of the run phase, `own_service` the mean of brokers' service time in seconds; `sampled` is
        true where they log a sample of publications."""
        self._links = links
        self.end = end
        self._own_service = own_service
        self._sampled = sampled

    def asked(self, expectation: Expectation, start: int, patience: float) -> Iterator[Question]:
        """The questions about an expected course that began at `start`, where changes may take `patience` seconds."""
        allowed = round(patience * SECOND)
        for reset in expectation.resets:
            yield StreamReset(
                finding=Finding(change=f"{FaultKind.RESET} of {reset.direction}", at=reset.time),
                direction=reset.direction, time=start + reset.time, within=allowed + SECOND,
                on_demand=isinstance(self._links.overlay.links, MeshLinks),
            )  # fmt: skip
        for stage in expectation.stages:
            yield from self._of_stage(stage, start, allowed)

    def _of_stage(self, stage: Stage, start: int, patience: int) -> Iterator[Question]:
        begin, end = start + stage.begin + patience, start + (self.end if stage.end is None else stage.end)
        if begin >= end:
            return
        match stage.target, stage.before, stage.state:
            case LinkDirection() as direction, DirectionState() as before, DirectionState() as state if (
                state.disturbance or before.disturbance
            ):
                kind = FaultKind.DISTURB if state.disturbance else HealKind.UNDISTURB
                finding = Finding(change=f"{kind} of {direction}", at=stage.begin)
                yield Disturbing(
                    finding=finding, direction=direction, disturbance=state.disturbance, begin=begin, end=end,
                    sampled=self._sampled,
                )  # fmt: skip
            case str() as broker, BrokerState() as before, BrokerState() as state if not (state.down or state.paused):
                yield from self._of_service(broker, before, state, stage.begin, (begin, end))

    def _of_service(
        self, broker: BrokerId, before: BrokerState, state: BrokerState, at: int, span: tuple[int, int]
    ) -> Iterator[Question]:
        delays = self._links.delays_to(broker)
        if state.service_time is not None:
            yield Serving(
                finding=Finding(change=f"{FaultKind.SLOW} of {broker}", at=at), broker=broker,
                service_time=state.service_time, begin=span[0], end=span[1], delays=delays,
            )  # fmt: skip
        elif before.service_time is not None and before.down is None and before.service_time.mean > self._own_service:
            yield ServingAgain(
                finding=Finding(change=f"{HealKind.FULL_SPEED} of {broker}", at=at), broker=broker,
                slowed=before.service_time, begin=span[0], end=span[1], neighbours=frozenset(delays),
            )  # fmt: skip
