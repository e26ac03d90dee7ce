"""The log of a broker that records a sample of publications (`record.sample`).

1. `received`, `matched`, `sent` and `delivered` are recorded of publications in the sample, and of all other messages.
2. Whatever explains a loss is recorded of every publication: `dropped`, `disturbed`, `recalled`, `rejected`, `refused`.
3. A publication outside of the sample that waits for long is recorded as `waited`, because the delivery verdict depends
   on the time for which it was in flight.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final

from broker_service.config import BrokerConfig
from broker_service.messages import ClientRequest, Kind, Message, Operation, StreamPosition
from broker_service.service import LongWaits
from broker_service.tracing.trace import Recorder, Trace
from record.log import Event
from record.sample import PublicationSample, membership
from record.time_units import MILLISECOND

LONG_WAIT: Final = 250 * MILLISECOND
"""The least wait in one queue that is recorded: an eighth of the time after which the delivery verdict takes a
publication to be no longer in flight."""

_PUBLISH: Final = Kind.PUBLISH


class SampledRecorder(Recorder):
    """A recorder that records publications of a sample, and of other publications only what explains a loss or a long
    wait."""

    __slots__ = ("_in_sample",)

    def __init__(self, trace: Trace, clock: Callable[[], int], sample: PublicationSample) -> None:
        super().__init__(trace, clock)
        self._in_sample = membership(sample)

    def received(
        self,
        message: Message,
        time: int,
        duration: int | None,
        neighbour: str | None,
        client: str | None = None,
        *,
        arrived: int | None = None,
    ) -> None:
        """Records a message of a neighbour or a client, unless it is a publication outside of the sample."""
        if message.kind is not _PUBLISH or self._in_sample(message.id):
            super().received(message, time, duration, neighbour, client, arrived=arrived)

    def matched(self, publication: str, matches: int, duration: int) -> None:
        """Records a comparison of a publication in the sample."""
        if self._in_sample(publication):
            super().matched(publication, matches, duration)

    def sent(
        self, message: Message, time: int, waited: int, neighbour: str, queue: int, *, written: int | None = None
    ) -> None:
        """Records a message that left for a neighbour; of a publication outside of the sample, its wait if long."""
        if message.kind is not _PUBLISH or self._in_sample(message.id):
            super().sent(message, time, waited, neighbour, queue, written=written)
        elif waited >= LONG_WAIT:
            self.message(Event.WAITED, message, peer=neighbour, duration=waited, time=time)

    def notifications(
        self,
        event: Event,
        clients: Iterable[str],
        *,
        id: str,
        hops: int | None,
        bytes: int,
        peer: str | None = None,
        position: StreamPosition | None = None,
        arrived: int | None = None,
    ) -> None:
        """Records that a publication in the sample left for each of these clients."""
        if self._in_sample(id):
            super().notifications(
                event, clients, id=id, hops=hops, bytes=bytes, peer=peer, position=position, arrived=arrived
            )

    def waited_for_service(self, messages: Sequence[Message | ClientRequest], time: int, waited: int) -> None:
        """Records the wait of publications outside of the sample, whose turn comes at `time`."""
        for message in messages:
            publication = _publication(message)
            if publication is not None and not self._in_sample(publication.id):
                self.message(Event.WAITED, publication, duration=waited, time=time)


def _publication(message: Message | ClientRequest) -> Message | None:
    """The publication that a message or a client's request is; None for any other."""
    if isinstance(message, Message):
        return message if message.kind is _PUBLISH else None
    return Message(_PUBLISH, message.id, message.body) if message.operation is Operation.PUBLISH else None


def recorder_of(config: BrokerConfig, trace: Trace, clock: Callable[[], int]) -> Recorder:
    """The recorder of a broker: of everything, unless its configuration asks for a sample."""
    return Recorder(trace, clock) if config.sample is None else SampledRecorder(trace, clock, config.sample)


def long_waits(recorder: Recorder) -> LongWaits | None:
    """The report of long waits for service to a recorder of a sample; None for one of everything."""
    return LongWaits(LONG_WAIT, recorder.waited_for_service) if isinstance(recorder, SampledRecorder) else None
