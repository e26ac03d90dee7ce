"""Assignment of properties to links: fixed values, or seeded draws from ranges, one draw a link."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass

import networkx as nx

from record.service_time import Distribution, ServiceTime
from topology.link_properties import BrokerId, JitterDistribution, Link, LinkProperties, OverlayError
from topology.model import Broker, Overlay


@dataclass(frozen=True, slots=True)
class Range:
    """A fixed value (both ends equal) or a uniform distribution."""

    low: float
    high: float

    def __post_init__(self) -> None:
        if self.low > self.high:
            raise OverlayError(f"the range {self.low:g} to {self.high:g} has its ends swapped")

    @classmethod
    def fixed(cls, value: float) -> Range:
        return cls(value, value)

    def draw(self, rng: random.Random) -> float:
        return self.low if self.low == self.high else rng.uniform(self.low, self.high)


@dataclass(frozen=True, slots=True)
class SendTimes:
    """The range of links' mean send times, and the distribution of single messages' times around the mean."""

    mean: Range = Range(0.0, 0.0)
    distribution: Distribution = Distribution.CONSTANT
    deviation: float = 0.0
    """Spread of single messages' times in seconds (`ServiceTime.deviation`)."""

    def around(self, mean: float) -> ServiceTime:
        """The send time of a link with this mean. Raises `OverlayError` for one that no link can have."""
        try:
            return ServiceTime(mean=mean, distribution=self.distribution, deviation=self.deviation)
        except ValueError as error:
            raise OverlayError(f"a link's send time, {error}") from None


@dataclass(frozen=True, slots=True)
class LinkTemplate:
    """The ranges from which properties of links are drawn. Units are those of `LinkProperties`."""

    delay: Range = Range(0.0, 0.0)
    jitter: Range = Range(0.0, 0.0)
    jitter_share: float = 0.0
    """Jitter as a share of the link's own delay, added to `jitter`."""
    distribution: JitterDistribution = JitterDistribution.NORMAL
    loss: Range = Range(0.0, 0.0)
    rate: Range | None = None
    queue_limit: int = 1000
    send_time: SendTimes = SendTimes()

    def draw(self, seed: str, delay: float | None = None) -> LinkProperties:
        """The properties of the link that `seed` names; each property has its own random stream.

        A `delay`, when given, replaces the template's own.
        """

        def drawn(name: str, values: Range) -> float:
            # Seeding a generator costs far more than a draw, and most values are fixed.
            return values.low if values.low == values.high else values.draw(random.Random(f"{seed}:{name}"))

        delay = drawn("delay", self.delay) if delay is None else delay
        return LinkProperties(
            delay=delay,
            jitter=drawn("jitter", self.jitter) + self.jitter_share * delay,
            distribution=self.distribution,
            loss=drawn("loss", self.loss),
            rate=None if self.rate is None else drawn("rate", self.rate),
            queue_limit=self.queue_limit,
            send_time=self.send_time.around(drawn("send_time", self.send_time.mean)),
        )

    def check(self, longest: float | None = None) -> None:
        """Raises `OverlayError` if a draw could give a property that no link can have; `longest` is the greatest delay
        given."""
        for end in ("low", "high"):
            delay = getattr(self.delay, end) if longest is None else longest
            LinkProperties(
                delay=delay,
                jitter=getattr(self.jitter, end) + self.jitter_share * delay,
                loss=getattr(self.loss, end),
                rate=None if self.rate is None else getattr(self.rate, end),
                queue_limit=self.queue_limit,
                send_time=self.send_time.around(getattr(self.send_time.mean, end)),
            )


@dataclass(frozen=True, slots=True)
class LinkTemplates:
    """The template of each direction; a link is symmetric when `backward` is None."""

    forward: LinkTemplate = LinkTemplate()
    backward: LinkTemplate | None = None

    def check(self, longest: float | None = None) -> None:
        """Checks both directions. Raises as `LinkTemplate.check`."""
        for template in (self.forward, self.backward):
            if template is not None:
                template.check(longest)

    def draw(self, a: BrokerId, b: BrokerId, seed: str, delays: tuple[float, float] | None = None) -> Link:
        """The link between a and b. Delays from a to b and back, when given, replace the templates' own."""
        link = f"{seed}:{min(a, b)}:{max(a, b)}"
        there, back = delays or (None, None)
        forward = self.forward.draw(f"{link}:forward", there)
        if self.backward is not None:
            return Link(a, b, forward, self.backward.draw(f"{link}:backward", back))
        return Link(a, b, forward, forward if there == back else self.forward.draw(f"{link}:forward", back))


def build(
    name: str,
    graph: nx.Graph[BrokerId],
    templates: LinkTemplates,
    seed: int,
    exceptions: Mapping[tuple[BrokerId, BrokerId], LinkTemplates] | None = None,
) -> Overlay:
    """An overlay of a graph's shape, with links drawn from `templates`, or from the exception for that very link.

    A link that has an exception runs in the direction in which the exception names its ends. A link's properties
    depend on the seed and its two ends only, so that adding a link changes no other.
    Raises `OverlayError` when the graph is not a valid overlay.
    """
    exceptions = exceptions or {}
    ends = [(b, a) if (b, a) in exceptions else (a, b) for a, b in graph.edges]
    return Overlay(
        name=name,
        brokers=tuple(Broker(node, dict(attributes)) for node, attributes in graph.nodes(data=True)),
        links=tuple(exceptions.get((a, b), templates).draw(a, b, f"{seed}:link") for a, b in ends),
    )
