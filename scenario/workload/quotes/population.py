"""The clients of a workload of quotes."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from scenario.model import Scenario
from scenario.sections.messages import Problem
from scenario.sections.workload.kind import Arrivals
from scenario.sections.workload.quotes import QuotePublications, QuoteSubscriptions, QuotesWorkload
from scenario.workload.bounds import publication_problems
from scenario.workload.operations import PlannedOperation
from scenario.workload.placement import broker_problems, placed, placement_problems
from scenario.workload.population import Expected
from scenario.workload.quotes.bootstrap import extended, lacking_for_more
from scenario.workload.quotes.publishers import Publisher, publishers, symbol_weights
from scenario.workload.quotes.series import QuoteSeries, real_quotes
from scenario.workload.quotes.sources import read_quotes
from scenario.workload.quotes.subscribers import QuoteDistribution, Subscriber, followers, subscribers
from scenario.workload.streams import numeric_stream, stream
from scenario.yaml_files.errors import ScenarioError
from scenario.yaml_files.fields import FieldPath
from topology.link_properties import BrokerId
from topology.model import Overlay


@dataclass(frozen=True, slots=True)
class QuotesPopulation:
    """Publishers of quotes, and subscribers to ranges of them."""

    publishing: tuple[Publisher, ...]
    subscribing: tuple[Subscriber, ...]
    arrivals: Arrivals
    seed: int

    @property
    def publishers(self) -> Mapping[str, BrokerId]:
        return {publisher.client: publisher.broker for publisher in self.publishing}

    @property
    def subscribers(self) -> Mapping[str, BrokerId]:
        return {subscriber.client: subscriber.broker for subscriber in self.subscribing}

    def advertisements(self) -> Sequence[PlannedOperation]:
        present = [publisher for publisher in self.publishing if publisher.joins is None]
        return [operation for publisher in present for operation in publisher.advertisements()]

    def subscriptions(self) -> Sequence[PlannedOperation]:
        return [operation for subscriber in self.subscribing for operation in subscriber.subscriptions()]

    def lasting_subscriptions(self) -> Sequence[PlannedOperation]:
        return self.subscriptions()

    def changes(self, begin: int, run: float) -> Iterator[PlannedOperation]:
        return iter(())

    def paced(self, begin: int, load: float) -> Iterator[PlannedOperation]:
        streams = [publisher.run_operations(begin, load, self.arrivals, self.seed) for publisher in self.publishing]
        return heapq.merge(*streams, key=lambda operation: operation.at)

    def expected(self, run: float) -> Expected:
        published = {publisher.client: publisher.expected_publications(run) for publisher in self.publishing}
        usual = sum(published[publisher.client] for publisher in self.publishing if not publisher.apart)
        return Expected(
            advertisements=sum(len(publisher.series) for publisher in self.publishing),
            subscriptions=sum(len(subscriber.choices) for subscriber in self.subscribing),
            publications=sum(published.values()),
            notifications=sum(
                subscriber.expected_share() * usual + published.get(subscriber.follows or "", 0.0)
                for subscriber in self.subscribing
            ),
        )


def populate(section: QuotesWorkload, scenario: Scenario, overlay: Overlay) -> QuotesPopulation:
    """The clients of a section. Raises `ScenarioError` for quotes that cannot be read."""
    publications, seed = section.publications, scenario.seed
    if publications is None:
        return QuotesPopulation((), (), "periodic", seed)
    brokers = [broker.id for broker in overlay.brokers]
    series = _series(publications, seed)
    publishing_at = placed(publications.publishers, publications.placement, brokers, stream(seed, "publishers"))
    publishing = publishers(publications, publishing_at, series, seed)
    subscribing: tuple[Subscriber, ...] = ()
    if section.subscriptions is not None:
        subscribing = _subscribers(section.subscriptions, publishing, series, brokers, seed)
    return QuotesPopulation(publishing, subscribing, publications.arrivals, seed)


def problems(section: QuotesWorkload, scenario: Scenario, overlay: Overlay) -> Iterator[Problem]:
    """Contradictions between the section and the rest of the scenario."""
    publications, subscriptions = section.publications, section.subscriptions
    if publications is not None:
        path: FieldPath = ("workload", "publications")
        yield from placement_problems((*path, "placement"), publications.placement, overlay)
        for name, publisher in publications.individually.items():
            if publisher.broker is not None:
                yield from broker_problems((*path, "individually", name, "broker"), publisher.broker, overlay)
    if subscriptions is not None:
        path = ("workload", "subscriptions")
        yield from placement_problems((*path, "placement"), subscriptions.placement, overlay)
        for index, group in enumerate(subscriptions.followers):
            yield from placement_problems((*path, "followers", index, "placement"), group.placement, overlay)
    if publications is not None:
        yield from publication_problems(publications.publishers, publications.rate, scenario)
        yield from _individual_times(publications, scenario.timeline.run)
        if section.profile is not None:
            yield from _with_a_profile(publications)


def _individual_times(publications: QuotePublications, run: float) -> Iterator[Problem]:
    for name, publisher in publications.individually.items():
        path: FieldPath = ("workload", "publications", "individually", name)
        for field in ("joins", "stops", "leaves"):
            time = getattr(publisher, field)
            if time is not None and time >= run:
                yield Problem((*path, field), f"after the run phase, which lasts {run:g} s")
        for index, burst in enumerate(publisher.bursts):
            if (ends := burst.at + burst.publications / burst.rate.low) > run:
                message = f"lasts until {ends:g} s, beyond the run phase of {run:g} s: start it sooner"
                yield Problem((*path, "bursts", index), message)


def _with_a_profile(publications: QuotePublications) -> Iterator[Problem]:
    """Individual times of publishers, which a profile would part from their publications."""
    for name, publisher in publications.individually.items():
        for field in ("joins", "stops", "leaves", "bursts"):
            if getattr(publisher, field):
                path: FieldPath = ("workload", "publications", "individually", name, field)
                yield Problem(path, "does not go with `workload.profile`; leave one of them out")


def _subscribers(
    section: QuoteSubscriptions,
    publishing: Sequence[Publisher],
    series: Sequence[QuoteSeries],
    brokers: Sequence[BrokerId],
    seed: int,
) -> tuple[Subscriber, ...]:
    """The subscribers that choose among all quotes, then the followers."""
    weights = symbol_weights(publishing)
    following = sum(group.subscribers for group in section.followers)
    at = placed(section.subscribers - following, section.placement, brokers, stream(seed, "subscribers"))
    made: list[Subscriber] = []
    if at:
        common = [quotes for quotes in series if quotes.symbol in weights]
        made += subscribers(section, at, QuoteDistribution(common, weights), seed)
    for place, group in enumerate(section.followers):
        publisher = publishing[int(group.of[1:]) - 1]
        elsewhere = [broker for broker in brokers if broker != publisher.broker] or brokers
        at = placed(group.subscribers, group.placement, elsewhere, stream(seed, f"followers:{place}"))
        made += followers(len(made) + 1, publisher, group.symbols, at, weights)
    return tuple(made)


def _series(section: QuotePublications, seed: int) -> tuple[QuoteSeries, ...]:
    count = section.symbol_count
    given = real_quotes() if section.source == "stocks" else read_quotes(section.source, count)
    if len(given) < count and (lacking := lacking_for_more(given)):
        raise ScenarioError(
            f"workload.publications: {count} symbols are needed, and the quotes are of {len(given)} and have no "
            f"{lacking!r}, of which further ones could be made: give quotes of {count} symbols, or ask for fewer"
        )
    return extended(given, count, numeric_stream(seed, "bootstrap"))
