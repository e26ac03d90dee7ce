"""Messages between a command and the supervisor of a held run: one request, then one answer, each a line of JSON."""

from __future__ import annotations

import msgspec

from record.errors import HostError
from topology.link_properties import BrokerId

MOST_REQUEST_BYTES = 64 << 10
MOST_ANSWER_BYTES = 4 << 20

Fields = dict[str, str | list[str]]
"""Fields of an entry of a scenario, but for its time, as the scenario's file has them."""


class StatusRequest(msgspec.Struct, frozen=True, tag="status"):
    """Asks for the state of the run."""


class EndRequest(msgspec.Struct, frozen=True, tag="end"):
    """Asks for the end of the run. It is answered when the run has been judged."""


class FaultRequest(msgspec.Struct, frozen=True, tag="fault"):
    """Asks for a fault: an entry of `faults`."""

    fields: Fields


class HealRequest(msgspec.Struct, frozen=True, tag="heal"):
    """Asks for the end of the faults on these brokers and links; of all faults where none are named."""

    targets: list[str] = []


class PublishRequest(msgspec.Struct, frozen=True, tag="publish"):
    """Asks for a publication at a broker, in PADRES notation."""

    broker: BrokerId
    content: str
    advertise: str | None = None
    """The advertisement that comes before the first publication of its kind; made from the content when None."""


class SubscribeRequest(msgspec.Struct, frozen=True, tag="subscribe"):
    """Asks for a subscription at a broker, in PADRES notation, by a client of its own."""

    broker: BrokerId
    content: str


class UnsubscribeRequest(msgspec.Struct, frozen=True, tag="unsubscribe"):
    """Withdraws the subscription of a client that `SubscribeRequest` made."""

    client: str


class StepRequest(msgspec.Struct, frozen=True, tag="step"):
    """Lets this many nanoseconds of virtual time pass, at once; then time stands still."""

    lasts: int


class UntilRequest(msgspec.Struct, frozen=True, tag="until"):
    """Lets virtual time pass until a record is logged, written as `AwaitedRecord` reads it; then time stands still."""

    record: str
    within: int
    """Nanoseconds of virtual time after which it stands still without the record."""


class SpeedRequest(msgspec.Struct, frozen=True, tag="speed"):
    """Lets so many seconds of virtual time pass in a second from now on; none stands for time that stands still."""

    speed: float


TimeRequest = StepRequest | UntilRequest | SpeedRequest
"""A request about virtual time itself."""

Request = (
    StatusRequest
    | EndRequest
    | FaultRequest
    | HealRequest
    | PublishRequest
    | SubscribeRequest
    | UnsubscribeRequest
    | TimeRequest
)


class LinkPlace(msgspec.Struct, frozen=True):
    """The end of a link at a broker."""

    neighbour: BrokerId
    interface: str = ""
    """Name of the interface in the broker's network namespace; empty where the link is modelled."""


class BrokerPlace(msgspec.Struct, frozen=True, kw_only=True):
    """A broker of a held run, and the processes by which its surroundings are entered."""

    name: BrokerId
    runs: bool = True
    """False while it is down."""
    namespace: int | None = None
    """A process in the broker's network namespace, which outlives the broker's own; None of a simulated broker."""
    process: int | None = None
    """The broker's own process; None while it is down, and of a simulated broker."""
    links: list[LinkPlace] = []


class SitePlace(msgspec.Struct, frozen=True, kw_only=True):
    """A site of a held run, where it is now."""

    name: str
    broker: BrokerId
    clients: list[str]


class Status(msgspec.Struct, frozen=True, kw_only=True, tag="status"):
    """The state of a run."""

    phase: str
    activity: str = ""
    passed: float = 0.0
    """Seconds since the workload began."""
    left: float = 0.0
    """Seconds after which the run ends by itself."""
    log_bytes: int = 0
    log_quota: int = 0
    """Bytes of logs at which the run ends by itself."""
    runtime: str = ""
    pace: str = ""
    """The pace of virtual time, in words; empty where time is real."""
    published: int = 0
    delivered: int = 0
    rejected: int = 0
    by_hand: int = 0
    """Operations and faults by hand so far."""
    faults: list[str] = []
    """Faults in effect now, such as `kill B7`."""
    brokers: list[BrokerPlace] = []
    """Empty until all clients have joined."""
    sites: list[SitePlace] = []


class Done(msgspec.Struct, frozen=True, tag="done"):
    """Something was done by hand, or will be within a second."""

    text: str
    client: str = ""
    """The client that acts."""
    id: str = ""
    """The client's name for the subscription or publication."""


class Ended(msgspec.Struct, frozen=True, tag="ended"):
    """The run has ended and was judged."""

    exit_code: int


class Refused(msgspec.Struct, frozen=True, tag="refused"):
    """Nothing was done."""

    reason: str


Answer = Status | Done | Ended | Refused

_REQUESTS = msgspec.json.Decoder(Request)
_ANSWERS = msgspec.json.Decoder(Answer)


def encoded(message: Request | Answer) -> bytes:
    """A message as a line."""
    return msgspec.json.encode(message) + b"\n"


def read_request(line: bytes) -> Request | Refused:
    """The request in a line; the refusal of a line that is too long or no request."""
    if len(line) > MOST_REQUEST_BYTES or not line.endswith(b"\n"):
        return Refused(f"a request is one line of {MOST_REQUEST_BYTES >> 10} KiB at most")
    try:
        request: Request = _REQUESTS.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        return Refused(f"not a request: {error}")
    return request


def read_answer(line: bytes) -> Answer:
    """The answer in a line. Raises `HostError` where the supervisor ended before it answered."""
    try:
        answer: Answer = _ANSWERS.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise HostError("the supervisor of the run ended before it answered; `brokerlab clean` removes the rest") from (
            error
        )
    return answer
