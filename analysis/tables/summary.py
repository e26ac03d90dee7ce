"""`summary.json`: the numbers a script needs. `Summary` is its schema; docs/summary.md describes it field by field."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec

from analysis.run_files.logs import LogLoss
from analysis.tables.broker_work import WorkFigures
from analysis.tables.budget import DelayParts
from analysis.tables.comparison import Comparison
from analysis.tables.delays import DelayByHops
from analysis.tables.delivery_figures import DeliveryFigures
from analysis.tables.detections import DetectionFigures
from analysis.tables.limits import LimitVerdict
from analysis.tables.power import Power
from analysis.tables.slow_starts import SlowStart
from analysis.tables.starts import START_NOT_ANNOUNCED, StartFigures
from analysis.tables.structs import struct_from
from analysis.tables.timeline import Fault
from analysis.tables.traffic import BrokerMessages, Drop
from record.errors import RunDirectoryError
from record.fidelity import Check, FidelityVerdict
from record.figures import Figure, FigureVerdict
from record.files import SUMMARY, read_file, write_json
from record.host_speed import factor_in_words
from record.wording import count_of

CORRECT = "correct"
UNJUDGED = "unjudged"
"""The verdict on a variant that proves nothing about deliveries: nothing was owed to any client, or less than half of
it could be judged."""
UNKNOWN_FIDELITY = "UNKNOWN"
"""The fidelity verdict of a run that holds no `fidelity.json`."""
BROKER_DEFECT = "broker defect"
"""The verdict on a variant in which a broker's own code failed, nearly always its router. It ended the run, so nothing
is known about deliveries."""
BELOW_EXPECTATION = "below expectation"
"""The verdict on a variant of a best-effort protocol whose delivery ratio certainly is below the scenario's
`expect.delivery`."""
POWER_BELOW = "power below expectation"
"""The verdict on a variant of whose owed notifications a smaller share was judged than the scenario's
`expect.judged`."""
HELD_UP = "held up by a slow reader"
"""A broker delays notifications of other clients while the session of a slow reader is full."""
STATE_LEFT = "state left"
"""The verdict on a variant after which routing tables held rows although all clients had left."""
OF_NO_PUBLICATION = frozenset({BROKER_DEFECT, STATE_LEFT, START_NOT_ANNOUNCED})
"""Kinds of examples whose `detail` says everything."""
OVERTAKEN = "overtaken"
"""The kind of an example that shows an overtaken notification, which is not a defect where routing promises no
order."""
FORMAT = 4
"""The version of the schema, which grows when a field changes its meaning or is removed."""


class Example(msgspec.Struct, frozen=True, kw_only=True):
    """One example of a defect. Times in nanoseconds of the run's clock."""

    defect: str
    """lost, duplicated, spurious or reordered; or overtaken, which is not a defect where routing promises no order; or
    detection lost, detection duplicated or detection spurious, which concern a set of publications; or broker defect or
    state left, which concern no publication and no client (both are empty): `detail` has the stack trace, or the rows
    of a broker's tables; or start not announced, which concerns a subscription of a client."""
    publication: str
    """The publication; of a set, the one that was made last."""
    client: str
    composite: str | msgspec.UnsetType = msgspec.UNSET
    """The client's name for its composite subscription; only of a set of publications, as the next."""
    publications: list[str] | msgspec.UnsetType = msgspec.UNSET
    """In the order of publishing."""
    publisher: str | None
    published_ns: int | None
    detail: str
    """A description for people."""
    reached: list[str]
    """The brokers that the publication arrived at, in order of links travelled."""
    paths: list[list[str]]
    """The paths of its notifications to this client, as far as the log holds them; of a lost one, the paths it took."""

    @property
    def sentence(self) -> str:
        """The description without the stack trace of a broker's defect."""
        return self.detail.partition("\n")[0] if self.defect == BROKER_DEFECT else self.detail

    @property
    def subject(self) -> str:
        """The publication, or the set of them and the composite subscription that it is for."""
        if self.publications is msgspec.UNSET:
            return self.publication
        return f"{' & '.join(self.publications)} for {self.composite}"


class BestEffort(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a protocol that promises best effort: its delivery ratio.

    Always: delivered = due - missed + optional + duplicate + spurious.
    """

    due: int
    """Notifications that a protocol which promises every publication would owe. Those that even best effort owes
    (`expected`) are among them: of clients whose own broker received the publication, or is next to one that passes it
    on."""
    missed: int
    """Notifications among `due` that did not come, the lost ones included."""
    ratio: float | None
    """(due - missed) / due; null where nothing was due."""
    low: float | None
    """The ratio's 95% confidence interval, from 20 batches of equally many publications in order of time (Student's t);
    null for fewer publications."""
    high: float | None
    wanted: float | None
    """The scenario's `expect.delivery`. The verdict is `below expectation` where `high` is less."""

    def in_words(self) -> str:
        if self.ratio is None:
            return "nothing was due, so there is no delivery ratio"
        found = f"delivery ratio {self.ratio:.1%} of {count_of(self.due, 'due notification')}"
        interval = "too few publications for an interval"
        if self.low is not None and self.high is not None:
            interval = f"95% interval {self.low:.1%} to {self.high:.1%}"
        return f"{found} ({interval})" + ("" if self.wanted is None else f"; {self.wanted:.1%} expected")


class Delivery(msgspec.Struct, frozen=True, kw_only=True):
    """The oracle's findings on one variant.

    Always, where every publication is promised: delivered = expected - lost - excused - not_judged + optional
    + duplicate + doubled + spurious.
    """

    verdicts: list[str]
    """`correct` alone, `unjudged` alone, `broker defect` alone, or what is wrong: lost, duplicated, spurious,
    reordered, start not announced, detection lost, detection duplicated, detection spurious, session broken, not
    confirmed, rejected, not renewed, misnumbered, session stays, held up by a slow reader, below expectation, power
    below expectation, state left."""
    power: Power
    """The share of the owed notifications that the verdicts rest on."""
    expected_judged: float | msgspec.UnsetType = msgspec.UNSET
    """The share that the scenario expects to be judged at least (`expect.judged`)."""
    unjudged: str | msgspec.UnsetType = msgspec.UNSET
    """Findings other than notifications that could not be judged, and the reason; only where there are any."""
    best_effort: BestEffort | msgspec.UnsetType = msgspec.UNSET
    """Only where routing promises best effort."""
    published: int
    """Publications that clients made."""
    rejected: int
    """Publications that brokers rejected."""
    expected: int
    """Notifications that had to come: pairs of publication and client."""
    delivered: int
    """Notifications that clients got, defective ones included."""
    optional: int
    """Pairs that were allowed to get it, because an operation was in flight, and did."""
    excused: int = 0
    """Pairs that had to get it and did not, as far as evidence excuses that: see `power`."""
    not_judged: int = 0
    """Pairs that had to get it and did not, of which nobody can tell why: see `power`."""
    lost: int
    """The other pairs that had to get it and did not."""
    duplicate: int
    """Notifications beyond the first of a pair that may or must get one."""
    doubled: int | msgspec.UnsetType = msgspec.UNSET
    """Others of these, which the handovers of clients that moved may double (`moves` in the manifest). Only where there
    are any."""
    spurious: int
    """Notifications (false positives) to clients that must not get them."""
    spurious_causes: dict[str, int]
    """Spurious notifications by cause."""
    reordered: int
    """Notifications that a later publication overtook, though routing promises order."""
    against_streams: int | msgspec.UnsetType = msgspec.UNSET
    """Notifications that came after one of a later position in their stream, though routing promises order. Only where
    there are any; they make the verdict `reordered`, too."""
    overtaken: int
    """First notifications that a later publication of the same publisher overtook, whether or not order is promised."""
    settles_within_s: float = 0.0
    """Seconds after which a (un)subscription or (un)advertisement has settled, by the overlay's delays, modelled work,
    and the intervals that routing declares."""
    unconfirmed: int
    """Subscriptions and advertisements that were never confirmed; nothing is expected because of them. Those that no
    fault explains make the verdict `not confirmed`."""
    detections: DetectionFigures | msgspec.UnsetType = msgspec.UNSET
    """Only where clients made composite subscriptions, or were notified of detections."""
    starts: StartFigures | msgspec.UnsetType = msgspec.UNSET
    """Only where the protocol announces starts of subscriptions."""
    examples: list[Example]
    """The first ten of each defect, in the order of publishing."""

    def counts_in_words(self) -> str:
        """The counts in one line."""
        against = f", {self.against_streams:,} against the order of their streams" if self.against_streams else ""
        doubled = f", {self.doubled:,} doubled by moves" if self.doubled else ""
        return struct_from(DeliveryFigures, self).in_words(self.optional) + doubled + against

    def power_in_words(self) -> str:
        """The power of the verdicts in one line, beside the expected one."""
        wanted = self.expected_judged
        besides = "" if self.unjudged is msgspec.UNSET else f"; not judged: {self.unjudged}"
        return self.power.in_words() + ("" if wanted is msgspec.UNSET else f"; {100 * wanted:.4g}% expected") + besides


class Delay(msgspec.Struct, frozen=True, kw_only=True):
    """Delay of first notifications, milliseconds, from the intended time of the publication. Null without any."""

    notifications: int
    mean_ms: float | None
    p50_ms: float | None
    p95_ms: float | None
    p99_ms: float | None
    max_ms: float | None
    queueing_share: float | None
    """Share of the delay spent in output queues, over the notifications whose whole path is in the log."""
    ways_known: int
    """The number of notifications whose whole path is in the log."""
    budget: DelayBudget | msgspec.UnsetType = msgspec.UNSET
    """Not set where the log does not hold the ways of notifications, as where brokers logged a sample."""
    without_contention: DelayWithoutContention | msgspec.UnsetType = msgspec.UNSET
    """Not set where it cannot be known: without a budget, or where waiting for processors was not sampled."""
    without_access: DelayWithoutAccess | msgspec.UnsetType = msgspec.UNSET
    """Not set where no client is on a site, and without a budget."""
    figures: list[FigureVerdict] = []
    """The verdicts on mean, p50, p95 and p99; none without notifications."""

    def of(self, figure: Figure) -> FigureVerdict | None:
        """The verdict on a figure; None without notifications."""
        return next((found for found in self.figures if found.figure == figure), None)


class DelayWithoutContention(msgspec.Struct, frozen=True, kw_only=True):
    """The delays of those notifications whose ways are in the log, in a replay of the log in which nothing waits for a
    processor, milliseconds. Those of a simulated run are as measured, because nothing waits for a processor there."""

    notifications: int
    mean_ms: float
    p50_ms: float
    p95_ms: float
    p99_ms: float


class DelayWithoutAccess(msgspec.Struct, frozen=True, kw_only=True):
    """The overlay's part of the delays of those notifications whose ways are in the log, milliseconds: each delay less
    what access links of the publisher's and of the client's site took of it, as `delay.budget` has it."""

    notifications: int
    mean_ms: float
    p50_ms: float
    p95_ms: float
    p99_ms: float


_STEAL_SHOWN_FROM = 0.02
"""Share of the delay from which steal is in the line about it."""


class DelayBudget(msgspec.Struct, frozen=True, kw_only=True):
    """The parts of the delays of those notifications whose ways are in the log."""

    notifications: int
    parts: DelayParts
    contention_at: str | None
    """The node with the most contention; null where there was none."""
    unexplained_at: str | None
    """The node with the most time that nothing explains, by absolute values; null where there was none."""
    stolen_at_most_ms: float | msgspec.UnsetType = msgspec.UNSET
    """The most of the mean contention and unexplained that the hypervisor can have taken, by stealing processors; the
    least is nothing, because steal is known of the host alone. Not set where it was not sampled."""
    access_ms: float | msgspec.UnsetType = msgspec.UNSET
    """The part of the mean delay, among that of links, that access links of publishers' and of clients' sites took; the
    rest is the overlay's. Not set where no client is on a site."""
    cost_factor: float | msgspec.UnsetType = msgspec.UNSET
    """The factor of the calibration's costs in work and platform, by the speed of the run's host. Not set where that
    is not known, in simulated runs, and where several hosts shared the run."""
    cost_factors: dict[str, float] | msgspec.UnsetType = msgspec.UNSET
    """The factor `cost_factor` of each host, by its name, if several hosts shared the run; hosts of unknown speed are
    missing."""

    def in_words(self, of: int) -> str:
        """The parts as a line, given the number of all first notifications."""
        known = "" if self.notifications == of else f" (of {self.notifications:,} notifications whose ways are logged)"
        most = "" if self.contention_at is None else f", most contention at {self.contention_at}"
        stolen = 0.0 if self.stolen_at_most_ms is msgspec.UNSET else self.stolen_at_most_ms
        matters = stolen >= _STEAL_SHOWN_FROM * self.parts.delay_ms > 0
        steal = f" (of the last two, the hypervisor stole {stolen:.1f} at most)" if matters else ""
        costs = f"; work and platform {costs}" if (costs := self.costs_in_words()) else ""
        access = "" if self.access_ms is msgspec.UNSET else f" (of links, access links took {self.access_ms:.1f})"
        return f"delay {self.parts.in_words()}{access}{steal}{most}{known}{costs}"

    def costs_in_words(self) -> str:
        """The factor of costs, of each host where there are several; empty where no speed is known."""
        if self.cost_factors is not msgspec.UNSET:
            return ", ".join(f"on {host} {factor_in_words(factor)}" for host, factor in self.cost_factors.items())
        return "" if self.cost_factor is msgspec.UNSET else factor_in_words(self.cost_factor)


class KindMessages(msgspec.Struct, frozen=True, kw_only=True):
    """Messages of one kind, over all brokers."""

    kind: str
    from_clients: int
    received: int
    """From neighbours."""
    sent: int
    sent_bytes: int


class Matching(msgspec.Struct, frozen=True, kw_only=True):
    """Comparisons of content with subscriptions."""

    operations: int
    publication_messages: int
    """Publications received by brokers, from clients and neighbours: the number of comparisons if every broker made
    one."""
    share: float | None
    """operations / publication_messages."""
    per_publication: float | None
    """operations / publications that were compared at any broker."""
    most_brokers: int
    """The largest number of brokers that compared the same publication: 1 proves that only the first broker matches."""
    at_several_brokers: int
    """Publications compared at more than one broker."""


class SampledLogs(msgspec.Struct, frozen=True, kw_only=True):
    """The sample of publications that brokers logged. Deliveries and delays come from clients, which logged all.

    Counts and bytes of publication messages are estimates: those of the sample, times published / logged.
    """

    share: float
    """Share of the publications that brokers were to log (`logs.publications` of the scenario)."""
    published: int
    """Publications that clients made."""
    logged: int
    """Publications of clients that brokers logged."""

    def in_words(self) -> str:
        sampled = f"{100 * self.share:.4g}% of publications logged at brokers"
        counts = "counts of publication messages are estimates" if self.logged else "no publication message was counted"
        return f"{sampled} ({self.logged:,} of {self.published:,}); {counts}"


class SentBytes(msgspec.Struct, frozen=True, kw_only=True):
    """Bytes on emulated links from the start of the run phase until the messages had arrived, headers included, as the
    kernel counted them: the same for brokers of any kind."""

    bytes: int
    busiest_bytes: int
    """Bytes of the direction that carried most."""
    busiest_from: str
    busiest_to: str

    def in_words(self) -> str:
        """A line for people."""
        busiest = f"{self.busiest_from} to {self.busiest_to}"
        return f"{self.bytes:,} bytes on links, {self.busiest_bytes:,} of them from {busiest}"


class SystemFigures(msgspec.Struct, frozen=True, kw_only=True):
    """The work that a deployed system leaves to its clients."""

    system: str
    not_wanted: int
    """Publications that its filters let through to clients of a broker none of which wanted them, counted once for each
    broker: the price of topics."""
    came_again: int
    """Further copies of publications, which clients of the system have to recognise."""
    beyond_links_ms: float | msgspec.UnsetType = msgspec.UNSET
    """The mean delay less the delay of the links that a notification crossed. Only on a tree whose links all have one
    delay: elsewhere it is not known what it crossed."""

    def in_words(self) -> str:
        """A line for people."""
        again = f", and {count_of(self.came_again, 'further copy', 'further copies')}" if self.came_again else ""
        brought = f"{count_of(self.not_wanted, 'publication')} to brokers where no client wanted them{again}"
        longer = ""
        if self.beyond_links_ms is not msgspec.UNSET:
            longer = f"; delays are {self.beyond_links_ms:,.1f} ms longer than those of links, on average"
        return f"servers brought {brought}{longer}"


class VariantSummary(msgspec.Struct, frozen=True, kw_only=True):
    """The results of one variant of a run."""

    name: str
    fidelity: str
    """The worst of fidelity.json, of the audit and of the figures of delays that count: VALID, DEGRADED or INVALID;
    UNKNOWN without that file, unless the audit or a figure is INVALID."""
    audit: list[Check] = []
    """The checks of the run's own logs against what was asked for."""
    interrupted: bool
    delivery: Delivery
    delay: Delay
    delay_by_hops: list[DelayByHops]
    sampled_logs: SampledLogs | msgspec.UnsetType = msgspec.UNSET
    """Only where brokers logged a sample of publications (`logs.publications` of the scenario)."""
    messages: list[KindMessages]
    broker_messages: list[BrokerMessages]
    matching: Matching | msgspec.UnsetType = msgspec.UNSET
    """Not set where brokers keep no logs."""
    withheld: list[str] | msgspec.UnsetType = msgspec.UNSET
    """Figures that are absent because the brokers are not brokerlab's, each with the reason; only of such brokers."""
    system: SystemFigures | msgspec.UnsetType = msgspec.UNSET
    """Only of a deployed system behind an adapter."""
    sent: SentBytes | msgspec.UnsetType = msgspec.UNSET
    """Not set where the links were simulated."""
    router_work: list[WorkFigures] = []
    """Empty for simulated brokers, whose clock stands still while their routers work."""
    drops: list[Drop]
    faults: list[Fault] = []
    """In order of time."""
    slow_starts: list[SlowStart] | msgspec.UnsetType = msgspec.UNSET
    """Restarts after which a broker took more than 2 s to listen again; only where there are any."""
    limits: list[LimitVerdict] | msgspec.UnsetType = msgspec.UNSET
    """The verdicts on the limits of `expect`; only where it gives any."""

    @property
    def brokers_log(self) -> bool:
        """False for brokers of others that keep no logs."""
        return self.matching is not msgspec.UNSET or self.withheld is msgspec.UNSET

    @property
    def checks(self) -> list[Check]:
        """The checks that the analysis makes: those of the audit, and the verdicts on figures that count."""
        return [*self.audit, *(figure.check for figure in self.delay.figures if figure.counts)]


class Summary(msgspec.Struct, frozen=True, kw_only=True):
    """One run."""

    format: int = FORMAT
    run_id: str
    delivery: list[str]
    """The verdicts of all variants together: `correct` alone when every one is."""
    fidelity: str
    """The worst of the variants, as theirs."""
    interrupted: bool
    logs: LogLoss
    variants: list[VariantSummary]
    comparison: Comparison | None
    """The fastest of the other variants against the first; null for a single variant."""

    @property
    def correct(self) -> bool:
        return self.delivery == [CORRECT]


def violated(verdicts: Sequence[str], fidelity: str, *, interrupted: bool = False) -> bool:
    """True when a delivery was violated. An unjudged variant proves nothing, so it counts as violated unless there is a
    reason outside of the brokers: the user interrupted it, or the emulation did not hold."""
    explained = interrupted or fidelity == FidelityVerdict.INVALID
    return list(verdicts) != [CORRECT] and not (explained and list(verdicts) == [UNJUDGED])


def write_summary(summary: Summary, directory: Path) -> None:
    """Replaces `summary.json` of a run directory in one step."""
    write_json(directory / SUMMARY, summary)


def read_summary(directory: Path) -> Summary:
    """The summary of a run. Raises `RunDirectoryError` when the run was not analysed, or by another version."""
    file = directory / SUMMARY
    remedy = f"`brokerlab analyze {directory}`"
    try:
        return msgspec.json.decode(read_file(file), type=Summary)
    except FileNotFoundError:
        raise RunDirectoryError(f"{file}: no such file; {remedy} makes it") from None
    except (OSError, msgspec.DecodeError) as error:
        raise RunDirectoryError(f"{file}: cannot be read: {error}; {remedy} makes it anew") from error
