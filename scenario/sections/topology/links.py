"""Properties of links in the `topology` section."""

from __future__ import annotations

from typing import Literal

from record.service_time import ServiceTime
from scenario.sections.section import Count, Section
from scenario.sections.service_time import ServiceTimeDistribution, ServiceTimeField
from scenario.sections.units import BitRateRange, DurationRange, Jitter, JitterRange, ShareRange
from topology.link_properties import JitterDistribution
from topology.links import LinkTemplate, LinkTemplates, Range


class LinkDirectionSection(Section):
    """One direction of a link. Each link draws once from every range, by the seed."""

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
    send_time: ServiceTimeField | None = None
    """Time that a broker takes to send one message over the link, before it begins with the next one: a duration, a
    range, or a distribution with the fields of `brokers.service_time`."""

    def template(self) -> LinkTemplate:
        mean, sending = _sending(self.send_time)
        return LinkTemplate(
            delay=self.delay,
            jitter=self.jitter.seconds,
            jitter_share=self.jitter.share,
            distribution=JitterDistribution(self.distribution),
            loss=self.loss,
            rate=self.bandwidth,
            queue_limit=self.queue_limit,
            send_time=mean,
            send_distribution=sending.distribution,
            send_deviation=sending.deviation,
        )


def _sending(field: Range | ServiceTimeDistribution | None) -> tuple[Range, ServiceTime]:
    """The range of the mean send time, and the distribution of single ones around it."""
    if isinstance(field, ServiceTimeDistribution):
        sending = field.service_time()
        return Range.fixed(sending.mean), sending
    return field or Range.fixed(0.0), ServiceTime()


class LinkSection(LinkDirectionSection):
    """The properties of links, the same in both directions unless `backward` differs."""

    backward: LinkDirectionSection | None = None
    """The direction from the second broker to the first, where it differs."""

    def templates(self) -> LinkTemplates:
        return LinkTemplates(self.template(), None if self.backward is None else self.backward.template())
