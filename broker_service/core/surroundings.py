"""Surroundings that the parts of one broker share: its configuration, its clocks, its log, and its defects."""

from __future__ import annotations

from collections.abc import Callable

from broker_service.config import BrokerConfig
from broker_service.core.defects import DefectReports
from broker_service.core.far_messages import FarMessages
from broker_service.core.router_timers import Schedule
from broker_service.language import Publication
from broker_service.messages import ClientId, Kind, Message
from broker_service.routing.interface.matcher import Comparisons
from broker_service.tracing.sampled_trace import recorder_of
from broker_service.tracing.trace import Trace
from record.errors import BrokerDefectError
from record.log import Event
from record.time_units import SECOND


class Surroundings:
    """Surroundings of one broker's parts; the arguments are those of `Broker`."""

    def __init__(
        self,
        config: BrokerConfig,
        clock: Callable[[], int],
        trace: Trace,
        schedule: Schedule,
        *,
        stopwatch: Callable[[], int] | None,
        decode: Callable[[bytes], Publication],
        on_defect: Callable[[BrokerDefectError], None] | None,
    ) -> None:
        self.config = config
        self.limits = config.limits
        self.clock = clock
        self.stopwatch = stopwatch or clock
        self.schedule = schedule
        self.recorder = recorder_of(config, trace, clock)
        self.defects = DefectReports(config, self.recorder, on_defect)
        self.far_messages = FarMessages(config.id, config.most_hops)
        self.comparisons = Comparisons(self.stopwatch, decode, self.recorder)
        self.dropped = 0
        """Messages that ended here; those that links and sessions dropped are not counted."""
        self._id_prefix = f"{config.id}.{config.incarnation}"
        self._named = 0
        self.started_at = clock()

    def new_id(self) -> str:
        """Makes an identifier for the overlay, which no other broker and no other incarnation of this one makes."""
        self._named += 1
        return f"{self._id_prefix}.{self._named}"

    def seconds_since_start(self) -> float:
        """The time since the broker was made."""
        return (self.clock() - self.started_at) / SECOND

    def report_dropped(self, message: Message, reason: str) -> None:
        """Counts and records a message that ends here."""
        self.dropped += 1
        self.recorder.message(Event.DROPPED, message, text=reason, count=1)

    def report_lost_detections(
        self, client: ClientId, composite: str, publication: str, reason: str, count: int = 1
    ) -> None:
        """Records detections of a composite subscription that are lost here; `publication` is the one that was
        discarded, or that completes them or would have."""
        self.recorder.note(
            Event.DROPPED,
            kind=Kind.DETECTION.word,
            id=publication,
            client=client,
            text=lost_detection(reason, composite),
            count=count,
        )


def lost_detection(reason: str, composite: str) -> str:
    """The text of the log record of detections that are lost; `composite` is the client's name for it."""
    return f"{reason}: composite {composite}"
