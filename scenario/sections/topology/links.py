"""Properties of links in the `topology` section."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

from scenario.sections.section import Count, Section
from scenario.sections.service_time import ServiceTimeDistribution, ServiceTimeField
from scenario.sections.units import BitRateRange, DurationRange, Jitter, JitterRange, ShareRange
from topology.link_properties import JitterDistribution
from topology.links import LinkTemplate, LinkTemplates, Range, SendTimes


class WireSection(Section):
    """One direction of a wire. Each link draws once from every range, by the seed."""

    delay: DurationRange = Range(0.0, 0.0)
    """One-way delay: a duration, or a range such as `2ms..10ms`."""
    jitter: JitterRange = Jitter()
    """Standard deviation of the delay (half-width, if uniform): a duration, a range, or a percentage of the delay."""
    distribution: Literal["normal", "uniform", "pareto"] = "normal"
    """Distribution of the delay of single frames around the link's delay."""
    loss: ShareRange = Range(0.0, 0.0)
    """Share of frames lost: `1%` or `0.01`, or a range."""
    bandwidth: BitRateRange | None = None
    """Bit rate, or a range; without it the rate is limited only by the host."""
    queue_limit: Count = 1000
    """Largest number of frames queued for the bandwidth; further ones are dropped."""

    def template(self) -> LinkTemplate:
        return LinkTemplate(
            delay=self.delay,
            jitter=self.jitter.seconds,
            jitter_share=self.jitter.share,
            distribution=JitterDistribution(self.distribution),
            loss=self.loss,
            rate=self.bandwidth,
            queue_limit=self.queue_limit,
        )


class LinkDirectionSection(WireSection):
    """One direction of a link between brokers."""

    send_time: ServiceTimeField | None = None
    """Time that a broker takes to send one message over the link, before it begins with the next one: a duration, a
    range, or a distribution with the fields of `brokers.service_time`."""

    def template(self) -> LinkTemplate:
        return replace(super().template(), send_time=_send_times(self.send_time))


def _send_times(field: Range | ServiceTimeDistribution | None) -> SendTimes:
    if isinstance(field, ServiceTimeDistribution):
        given = field.service_time()
        return SendTimes(Range.fixed(given.mean), given.distribution, given.deviation)
    return SendTimes(field or Range.fixed(0.0))


class LinkSection(LinkDirectionSection):
    """The properties of links, the same in both directions unless `backward` differs."""

    backward: LinkDirectionSection | None = None
    """The direction from the second broker to the first, where it differs."""

    def templates(self) -> LinkTemplates:
        return LinkTemplates(self.template(), None if self.backward is None else self.backward.template())
