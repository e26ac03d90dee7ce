"""The result of a comparison, in the shape in which it is written as JSON.

`first` and `second` are the two runs in the order they were given. A relative difference is second / first - 1: 0.1
means that the second is a tenth more. It is null where the first is zero and the second is not. Intervals hold the true
value with a confidence of 95%; they are null where a run is too short for one.
"""

from __future__ import annotations

from enum import StrEnum

import msgspec

from analysis.tables.estimates import SampleEstimate
from record.figures import DifferenceVerdict, FigureVerdict

LEFT_OVER_SHARE = 0.05
"""Share of the first mean delay from which what is left over of a difference is pointed out."""


class Side(msgspec.Struct, frozen=True, kw_only=True):
    """One of the two runs."""

    directory: str
    run_id: str
    scenario: str
    seed: int
    runtime: str
    """Runtime and link driver, as `container, userspace`."""
    simulated: bool
    """True for a run in virtual time."""
    delivery: str
    """The verdicts on deliveries of all variants together."""
    fidelity: str
    publications_logged: str = "all"
    """Share of the publications that brokers logged: `all`, or the shares of the variants. Counts of messages and of
    matching are estimates of a share."""


class Statistic(msgspec.Struct, frozen=True, kw_only=True):
    """One statistic of the delay, milliseconds."""

    name: str
    """mean, p50, p95 or p99."""
    first: SampleEstimate
    second: SampleEstimate
    difference: SampleEstimate
    """Relative."""
    first_judged: FigureVerdict | None = None
    """The verdict on the figure of the first run. Null in a run that an older version analysed, as the next two."""
    second_judged: FigureVerdict | None = None
    judged: DifferenceVerdict | None = None
    """The effect of contention on the difference."""


class QuantileDistance(msgspec.Struct, frozen=True, kw_only=True):
    """Distance between two distributions of delay, over the quantiles from 1% to 99%, in milliseconds."""

    mean: float
    """Mean absolute distance of equal quantiles."""
    greatest: float
    at: float
    """The quantile with the greatest distance, as a share."""


class DelayComparison(msgspec.Struct, frozen=True, kw_only=True):
    """Delays of first notifications."""

    notifications: tuple[int, int]
    statistics: list[Statistic]
    quantiles: QuantileDistance

    def of(self, name: str) -> Statistic:
        """The statistic of this name."""
        return next(statistic for statistic in self.statistics if statistic.name == name)


class PartDifference(msgspec.Struct, frozen=True, kw_only=True):
    """One part of delays, as means of milliseconds."""

    name: str
    """Links, waiting for links and so on, from the budget of delays."""
    first: float | None
    """Null where it is not known; then it is in the unexplained, as in `second`."""
    second: float | None
    difference: float | None
    """second - first."""


class MeanDifference(msgspec.Struct, frozen=True, kw_only=True):
    """The difference of two mean delays by the parts of delays, milliseconds.

    Of those notifications whose ways are in the logs, which are all, unless brokers or links failed or left.
    """

    first: float
    second: float
    parts: list[PartDifference]
    backlog: PartDifference
    """The backlog that contention caused, which is within the waiting. It is not known where nothing was replayed."""
    explained: float
    """The part of second - first whose cause is known: contention, its backlog, work and platform, which are of the
    host and of the calibration. Links and waiting are as asked for in both runs, so a difference there says where and
    not why."""
    left_over: float
    """The rest: of one run or of the other, unknown which."""

    @property
    def difference(self) -> float:
        """second - first, which all parts add up to."""
        return self.second - self.first

    @property
    def stands_out(self) -> bool:
        """True where more is left over than may be passed over."""
        return abs(self.left_over) > LEFT_OVER_SHARE * self.first


class CountPair(msgspec.Struct, frozen=True, kw_only=True):
    """A count in each run."""

    name: str
    first: int
    second: int
    difference: float | None
    """Relative."""


class MessageComparison(msgspec.Struct, frozen=True, kw_only=True):
    """Messages that brokers received, from clients and from neighbours."""

    total: CountPair
    kinds: list[CountPair]
    worst_brokers: list[CountPair]
    """The brokers with the largest differences, counted in messages."""
    misplaced: float
    """Share of all messages that would have to move to another broker, or vanish, to make both runs equal."""


class VariantComparison(msgspec.Struct, frozen=True, kw_only=True):
    """A variant that both runs have."""

    name: str
    delay: DelayComparison | None
    """Null when a run delivered nothing."""
    mean: MeanDifference | None
    """Null where a run has no budget of delays, as where brokers logged a sample of publications."""
    messages: MessageComparison | None
    """The comparison of messages between brokers; None if brokers of one of the runs kept no logs."""
    matching: CountPair | None
    """Comparisons of one publication's content with the subscriptions of a broker; None like `messages`."""
    delivery: list[CountPair]
    follows_load: bool = False
    """True where routers decide by load, which is not the same in any two runs."""


class DelayOrder(msgspec.Struct, frozen=True, kw_only=True):
    """The variants of one run by their mean delay."""

    by_delay: list[str]
    """The fastest first."""
    lead: SampleEstimate
    """Relative difference of the second fastest to the fastest, over the notifications that both delivered."""
    winner: str | None
    """The fastest, if its lead is above zero with confidence and contention cannot explain it; null when no difference
    is shown."""
    judged: DifferenceVerdict | None = None
    """The effect of contention on the lead; null in a run that an older version analysed."""


class OrderVerdict(StrEnum):
    """Agreement of two runs on the fastest variant."""

    SAME_WINNER = "same winner"
    NO_DIFFERENCE = "no difference shown"
    """In either run."""
    IN_ONE_RUN = "shown in one run only"
    DIFFERENT_WINNERS = "different winners"


class OrderComparison(msgspec.Struct, frozen=True, kw_only=True):
    """Agreement of the runs on the fastest variant."""

    first: DelayOrder
    second: DelayOrder
    verdict: OrderVerdict


class RunComparison(msgspec.Struct, frozen=True, kw_only=True):
    """Two runs."""

    first: Side
    second: Side
    variants: list[VariantComparison]
    only_first: list[str]
    """Variants that the second run does not have."""
    only_second: list[str]
    order: OrderComparison | None
    """Null with fewer than two variants in common."""


def relative(first: float, second: float) -> float | None:
    """second / first - 1; 0 for two zeros, None where the first alone is zero."""
    if first == second:
        return 0.0
    return second / first - 1 if first else None


def count(name: str, first: int, second: int) -> CountPair:
    return CountPair(name=name, first=first, second=second, difference=relative(first, second))
