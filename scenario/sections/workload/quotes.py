"""The `workload` section of kind `quotes`: publishers of stock quotes, and subscribers to ranges of them."""

from __future__ import annotations

from itertools import pairwise
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, model_validator

from scenario.sections.section import BrokerName, Count, FilePath, Section
from scenario.sections.units import Duration, MessageRateRange, ShareRange
from scenario.sections.workload.kind import (
    MOST_ADVERTISEMENTS,
    MOST_PUBLISHERS,
    MOST_SUBSCRIPTIONS,
    MOST_SYMBOLS,
    Arrivals,
    Placement,
    WorkloadKind,
    require_rate,
)
from scenario.sections.workload.operations import OperationItem
from topology.links import Range


class QuoteFile(Section):
    """Quotes of the user's own."""

    file: FilePath
    """A file, a directory of files, or a .tar.gz of them; relative to the scenario's directory."""
    format: Literal["padres", "csv"]
    """`padres`: a publication a line; `csv`: a header with date, open, high, low, close, volume (and symbol)."""


class Burst(Section):
    """Publications that a publisher makes on top of its usual ones, at a separate rate."""

    at: Duration
    """Start, counted from the start of the run phase."""
    publications: Count
    """Number of publications; together with the rate it determines the burst's duration."""
    rate: MessageRateRange
    """Rate of the burst: `100000/min`, or a range to draw from."""

    @model_validator(mode="after")
    def _moves(self) -> Burst:
        if self.rate.low <= 0:
            raise ValueError("rate must be more than 0")
        return self


class IndividualPublisher(Section):
    """Differences of one publisher from the others. Times count from the start of the run phase."""

    rate: MessageRateRange | None = None
    """Replaces the others' rate; `0/min` for a publisher that publishes only in `bursts`."""
    bursts: tuple[Burst, ...] = ()
    """Publications on top of the rate: `[{at: 30s, publications: 50000, rate: 100000/min}]`."""
    broker: BrokerName | None = None
    """The publisher's broker, instead of the one that `placement` chooses."""
    quote_class: Annotated[str, Field(strict=True, min_length=1, max_length=64)] | None = None
    """The attribute `class` of its quotes, instead of the source's; only subscriptions of followers name it."""
    joins: Duration | None = None
    """Time of its advertisement and first publication; by default it advertises in the join phase like the others."""
    stops: Duration | None = None
    """End of its publications; the end of the run phase by default."""
    leaves: Duration | None = None
    """Time at which it withdraws its advertisements and stops publishing; never by default."""

    @model_validator(mode="after")
    def _in_order(self) -> IndividualPublisher:
        if self.rate is not None and self.rate.low <= 0 and not (self.rate.high == 0 and self.bursts):
            raise ValueError("rate must be more than 0, unless it is 0 and there are `bursts`")
        given = [(name, time) for name in ("joins", "stops", "leaves") if (time := getattr(self, name)) is not None]
        for (former, earlier), (latter, later) in pairwise(given):
            if later < earlier:
                raise ValueError(f"{latter} ({later:g} s) is before {former} ({earlier:g} s)")
        return self


class QuotePublications(Section):
    """Publishers, which advertise quotes of their symbols and publish them open-loop during the run phase."""

    source: Literal["stocks"] | QuoteFile = "stocks"
    """`stocks` (real daily quotes that come with brokerlab), or `{file: quotes.csv, format: csv}`."""
    publishers: Annotated[int, Field(strict=True, ge=1, le=MOST_PUBLISHERS)]
    """Number of publishers: P1, P2, ..."""
    symbols: Annotated[int, Field(strict=True, ge=1, le=MOST_SYMBOLS)] | None = None
    """Number of symbols; by default the number of publishers. Symbols beyond the source's own are bootstrapped from
    them."""
    publishers_per_symbol: Count = 1
    """Number of publishers of each symbol; more than 1 gives overlapping advertisements."""
    rate: MessageRateRange
    """Publications of each publisher: `60/min`, or a range from which each publisher draws its own."""
    arrivals: Arrivals = "periodic"
    """Evenly spaced from a random phase, or with exponential gaps."""
    placement: Placement = "uniform"
    """`uniform` (at random), `spread` (a second round when all brokers have one), or a list of brokers in turn."""
    individually: dict[str, IndividualPublisher] = Field(default_factory=dict)
    """Publishers that differ from the others, by name: `{P3: {rate: 10/s}, P7: {joins: 20s, leaves: 40s}}`."""

    @model_validator(mode="after")
    def _has_enough_of_each(self) -> QuotePublications:
        if self.publishers_per_symbol > self.publishers:
            raise ValueError(
                f"publishers_per_symbol is {self.publishers_per_symbol}, but there are {self.publishers} publishers"
            )
        if (made := self.symbol_count * self.publishers_per_symbol) > MOST_ADVERTISEMENTS:
            raise ValueError(f"makes {made:,} advertisements; there may be {MOST_ADVERTISEMENTS:,}")
        require_rate(self.rate)
        names = {f"P{number}" for number in range(1, self.publishers + 1)}
        if unknown := [name for name in self.individually if name not in names]:
            raise ValueError(f"individually: {unknown[0]} is not one of the publishers P1 to P{self.publishers}")
        return self

    @property
    def symbol_count(self) -> int:
        return self.publishers if self.symbols is None else self.symbols


class Followers(Section):
    """Subscribers to all publications of one publisher."""

    of: Annotated[str, Field(strict=True, pattern=r"^P[1-9][0-9]{0,5}$")]
    """The publisher: `P7`."""
    subscribers: Count
    """Number of followers; they are the last of the subscribers, in the order written."""
    symbols: Count = 1
    """Number of symbols each subscribes to: the publisher's own, then its neighbours by name, of any class."""
    placement: Placement = "spread"
    """Brokers of the followers, chosen as those of publishers; unless it is a list, no follower is at the publisher's
    own broker."""


class QuoteSubscriptions(Section):
    """Subscribers, whose subscriptions are ranges over the quotes of popular symbols."""

    subscribers: Annotated[int, Field(strict=True, ge=0, le=MOST_SUBSCRIPTIONS)]
    """Number of subscribers: S1, S2, ..."""
    per_subscriber: Count = 1
    """Number of subscriptions of each subscriber."""
    popularity: Literal["zipf", "uniform"] = "zipf"
    """Distribution from which subscriptions draw their symbol."""
    exponent: Annotated[float, Field(strict=True, ge=0, le=10)] = 1.0
    """Exponent of the Zipf distribution: the symbol of rank r is drawn in proportion to 1 / r ** exponent."""
    selectivity: ShareRange = Range(0.02, 0.02)
    """Expected share of all publications that a subscription matches: `2%` or `0.02`, or a range to draw from."""
    range_over: Literal["quotes", "symbols"] = "quotes"
    """Selection of a subscription: a range of one attribute over all `quotes`, or all quotes of some `symbols`, which
    are neighbours by name, so that few publishers match."""
    placement: Placement = "uniform"
    """Brokers of the subscribers, chosen as those of publishers."""
    followers: tuple[Followers, ...] = ()
    """Groups of subscribers that each follow one publisher: `[{of: P7, subscribers: 10}]`."""

    @model_validator(mode="after")
    def _has_not_too_many(self) -> QuoteSubscriptions:
        if (made := self.subscribers * self.per_subscriber) > MOST_SUBSCRIPTIONS:
            raise ValueError(f"makes {made:,} subscriptions; there may be {MOST_SUBSCRIPTIONS:,}")
        return self

    @model_validator(mode="after")
    def _has_as_many_followers(self) -> QuoteSubscriptions:
        if (following := sum(group.subscribers for group in self.followers)) > self.subscribers:
            raise ValueError(f"there are {following} followers, but only {self.subscribers} subscribers")
        return self


def _nullable(schema: dict[str, Any]) -> None:
    """Lets every field be null in the JSON Schema, because null is absent there."""
    schema["properties"] = {name: {"anyOf": [field, {"type": "null"}]} for name, field in schema["properties"].items()}


class QuotesWorkload(WorkloadKind):
    """Generated publishers and subscribers of stock quotes, operations written out, or both."""

    model_config = ConfigDict(json_schema_extra=_nullable)

    kind: Literal["quotes"] = Field(default="quotes", exclude=True)
    publications: QuotePublications | None = None
    """Generated publishers."""
    subscriptions: QuoteSubscriptions | None = None
    """Generated subscribers; they need `publications`."""
    operations: tuple[OperationItem, ...] = ()
    """Operations written out one by one."""

    def publishers_on(self, brokers: int) -> int:
        return self.publications.publishers if self.publications else 0

    def subscribers_on(self, brokers: int) -> int:
        return self.subscriptions.subscribers if self.subscriptions else 0

    @model_validator(mode="after")
    def _has_something_to_do(self) -> QuotesWorkload:
        if self.publications is None and not self.operations:
            raise ValueError("the workload is empty: give `publications` and `subscriptions`, or `operations`")
        if self.subscriptions is not None and self.publications is None:
            raise ValueError("`subscriptions` choose among the quotes of `publications`, which are missing")
        return self

    @model_validator(mode="after")
    def _follows_publishers(self) -> QuotesWorkload:
        if self.publications is None or self.subscriptions is None:
            return self
        most = self.publications.publishers
        for group in self.subscriptions.followers:
            if int(group.of[1:]) > most:
                raise ValueError(f"subscriptions.followers: {group.of} is not one of the publishers P1 to P{most}")
        symbols = self.publications.symbol_count
        if any(group.symbols > symbols for group in self.subscriptions.followers):
            raise ValueError(f"subscriptions.followers: there are no more than {symbols} symbols")
        apart = {name for name, own in self.publications.individually.items() if own.quote_class is not None}
        following = sum(group.subscribers for group in self.subscriptions.followers)
        if len(apart) == most and following < self.subscriptions.subscribers:
            raise ValueError("every publisher has a `quote_class` of its own: all subscribers must be `followers`")
        return self

    @model_validator(mode="before")
    @classmethod
    def _null_is_absent(cls, data: Any) -> Any:
        return {key: value for key, value in data.items() if value is not None} if isinstance(data, dict) else data
