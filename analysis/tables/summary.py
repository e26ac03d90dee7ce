"""`summary.json`: the numbers a script needs. `Summary` is its schema; docs/logs.md describes it field by field."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec

from analysis.run_files.logs import LogLoss
from analysis.tables.comparison import Comparison
from analysis.tables.definitions import BrokerMessages, DelayByHops, Drop, Fault
from record.errors import RunDirectoryError
from record.files import SUMMARY, replace_file

CORRECT = "correct"
UNJUDGED = "unjudged"
"""The verdict on a variant in which no client published anything: there was nothing to deliver."""
UNKNOWN_FIDELITY = "UNKNOWN"
"""The fidelity verdict of a run that holds no `fidelity.json`."""
BROKER_DEFECT = "broker defect"
"""The verdict on a variant in which a broker's own code failed, nearly always its router. It ended the run, so nothing
is said about deliveries."""
OVERTAKEN = "overtaken"
"""What an example shows that is no defect, because routing promises no order."""
FORMAT = 2
"""Grows when a field changes its meaning or goes away."""


class Example(msgspec.Struct, frozen=True, kw_only=True):
    """One defect, to look into. Times in nanoseconds of the run's clock."""

    defect: str
    """lost, duplicated, spurious or reordered; or overtaken, which is none where routing promises no order; or broker
    defect, which concerns no publication and no client (both are empty): `detail` has the stack trace."""
    publication: str
    client: str
    publisher: str | None
    published_ns: int | None
    detail: str
    """What happened, for people."""
    reached: list[str]
    """The brokers that the publication arrived at, in order of links travelled."""
    paths: list[list[str]]
    """The ways of its notifications to this client, as far as the log holds them; of a lost one, the ways it took."""


class Delivery(msgspec.Struct, frozen=True, kw_only=True):
    """The oracle's findings on one variant. Always: delivered = expected - lost + optional + duplicate + spurious."""

    verdicts: list[str]
    """`correct` alone, `unjudged` alone, `broker defect` alone, or what is wrong: lost, duplicated, spurious,
    reordered."""
    published: int
    """Publications that clients made."""
    rejected: int
    """Of these, refused to their client."""
    expected: int
    """Notifications that must have come: pairs of publication and client."""
    delivered: int
    """Notifications that clients got, defective ones included."""
    optional: int
    """Pairs that may have got it (something was in flight or broken) and did."""
    excused: int = 0
    """Pairs that may have got it and did not."""
    lost: int
    """Pairs that must have got it and did not."""
    duplicate: int
    """Notifications beyond the first of a pair that may or must get one."""
    spurious: int
    """Notifications (false positives) to clients that must not get them."""
    spurious_causes: dict[str, int]
    """Spurious notifications by cause."""
    reordered: int
    """Notifications that a later publication overtook, though routing promises order."""
    overtaken: int
    """First notifications that a later publication of the same publisher overtook, promised or not."""
    unconfirmed: int
    """Subscriptions and advertisements that were never confirmed; nothing is expected on their account."""
    examples: list[Example]
    """The first ten of each defect, in the order of publishing."""


class Delay(msgspec.Struct, frozen=True, kw_only=True):
    """Delay of first notifications, milliseconds, from the intended time of the publication. Null without any."""

    notifications: int
    mean_ms: float | None
    p50_ms: float | None
    p95_ms: float | None
    p99_ms: float | None
    max_ms: float | None
    queueing_share: float | None
    """Share of the delay spent in output queues, over the notifications whose whole way is in the log."""
    ways_known: int
    """How many notifications that is."""


class KindMessages(msgspec.Struct, frozen=True, kw_only=True):
    """Messages of one kind, over all brokers."""

    kind: str
    from_clients: int
    received: int
    """From neighbours."""
    sent: int
    sent_bytes: int


class Matching(msgspec.Struct, frozen=True, kw_only=True):
    """How often content was compared with subscriptions."""

    operations: int
    publication_messages: int
    """Publications received by brokers, from clients and neighbours: comparisons, if every broker made one."""
    share: float | None
    """operations / publication_messages."""
    per_publication: float | None
    """operations / publications that were compared anywhere."""
    most_brokers: int
    """The most brokers that compared one and the same publication: 1 proves that only the first broker matches."""
    at_several_brokers: int
    """Publications compared at more than one broker."""


class WorkFigures(msgspec.Struct, frozen=True, kw_only=True):
    """What the routers of all brokers took for publications, as the table `router_work` has it of each broker."""

    work: str
    """matching or path selection."""
    count: int
    mean_us: float
    """Microseconds, as the next four."""
    p50_us: float
    p95_us: float
    p99_us: float
    max_us: float


class VariantSummary(msgspec.Struct, frozen=True, kw_only=True):
    """One variant."""

    name: str
    fidelity: str
    """Copied from fidelity.json: VALID, DEGRADED or INVALID; UNKNOWN without that file."""
    interrupted: bool
    delivery: Delivery
    delay: Delay
    delay_by_hops: list[DelayByHops]
    messages: list[KindMessages]
    broker_messages: list[BrokerMessages]
    matching: Matching
    router_work: list[WorkFigures] = []
    """Nothing of simulated brokers, whose clock stands still while their routers work."""
    drops: list[Drop]
    faults: list[Fault] = []
    """In order of time."""


class Summary(msgspec.Struct, frozen=True, kw_only=True):
    """One run."""

    format: int = FORMAT
    run_id: str
    delivery: list[str]
    """The verdicts of all variants together: `correct` alone when every one is."""
    fidelity: str
    """Copied from fidelity.json; UNKNOWN without that file."""
    interrupted: bool
    settle_seconds: float
    """How long the oracle takes a (un)subscription or (un)advertisement to be in flight."""
    logs: LogLoss
    variants: list[VariantSummary]
    comparison: Comparison | None
    """The second variant against the first; null with fewer."""

    @property
    def correct(self) -> bool:
        return self.delivery == [CORRECT]


def violated(verdicts: Sequence[str], *, interrupted: bool) -> bool:
    """Whether a delivery was violated. A variant in which nothing was published proves nothing, so it passes only where
    the user cut it short."""
    return list(verdicts) != [CORRECT] and not (interrupted and list(verdicts) == [UNJUDGED])


def write_summary(summary: Summary, directory: Path) -> None:
    """Replaces `summary.json` of a run directory in one step."""
    replace_file(directory / SUMMARY, msgspec.json.format(msgspec.json.encode(summary), indent=2) + b"\n")


def read_summary(directory: Path) -> Summary:
    """Raises `RunDirectoryError` when the run was not analysed."""
    file = directory / SUMMARY
    try:
        return msgspec.json.decode(file.read_bytes(), type=Summary)
    except FileNotFoundError:
        raise RunDirectoryError(f"{file}: no such file; `brokerlab analyze {directory}` makes it") from None
    except msgspec.DecodeError as error:
        raise RunDirectoryError(f"{file}: {error}") from error
