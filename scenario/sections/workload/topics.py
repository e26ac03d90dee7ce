"""The `workload` section of kind `topics`: a publisher for each topic, and groups of subscribers to topics."""

from __future__ import annotations

import re
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, PlainSerializer, WithJsonSchema, model_validator

from scenario.sections.section import Count, Section
from scenario.sections.units import DurationRange
from scenario.sections.workload.course import Churn
from scenario.sections.workload.kind import (
    MOST_PUBLISHERS,
    MOST_SUBSCRIPTIONS,
    GeneratedPublications,
    Placement,
    WorkloadKind,
)
from scenario.sections.workload.operations import OperationItem

_TOPICS = re.compile(r"([1-9][0-9]{0,5})(?:\.\.([1-9][0-9]{0,5}))?", re.ASCII)


def _parse_topics(value: object) -> tuple[int, int]:
    """The first and the last topic of `7` or `1..50`. Raises `ValueError`."""
    if isinstance(value, tuple):
        return value
    match = _TOPICS.fullmatch(str(value)) if isinstance(value, str | int) else None
    if match is None:
        raise ValueError(f"expected a topic such as 7, or consecutive topics such as 1..50, got {value!r}")
    first, last = int(match[1]), int(match[2] or match[1])
    if last < first:
        raise ValueError(f"the topics {value!r} have their ends swapped")
    return first, last


def _format_topics(topics: tuple[int, int]) -> str:
    return f"{topics[0]}..{topics[1]}"


Topics = Annotated[
    tuple[int, int],
    BeforeValidator(_parse_topics),
    PlainSerializer(_format_topics),
    WithJsonSchema(
        {"type": ["string", "integer"], "minimum": 1, "maximum": 999_999, "pattern": f"^{_TOPICS.pattern}$"}
        | {"title": "topic or range of topics", "examples": ["1..50"]}
    ),
]


class TopicPublications(GeneratedPublications):
    """Publishers of topics: P1 publishes topic 1, P2 topic 2, ..."""

    topics: Annotated[int, Field(strict=True, ge=1, le=MOST_PUBLISHERS)]
    """Number of topics and of their publishers."""
    placement: Placement = "uniform"
    """`uniform` (at random), `spread` (a second round when all brokers have one), or a list of brokers in turn."""


class SubscriberGroup(Section):
    """Subscribers that are alike."""

    subscribers: Count
    """Number of subscribers; the groups are numbered through in the order written: S1, S2, ..."""
    topics: Topics | None = None
    """Topics that the subscribers divide among themselves in turn: `7`, or `1..50`; all by default."""
    topics_each: Count | Literal["all"] = 1
    """Number of consecutive topics in each subscriber's only subscription; `all` are all of `topics`."""
    placement: Placement = "uniform"
    """Brokers of the subscribers, chosen as those of publishers."""
    joins: DurationRange | None = None
    """Time of the first subscription, counted from the start of the run phase, or a range from which each subscriber
    draws its own; in the join phase by default."""
    churn: Churn | None = None
    """Unsubscribing and subscribing again during the run phase: `{every: 10s, away: 1s}`; never by default."""

    def topics_of(self, topics: int) -> tuple[int, int]:
        """The first and the last topic of the group where there are `topics` topics."""
        return (1, topics) if self.topics is None else self.topics


class TopicsWorkload(WorkloadKind):
    """Topics at fixed rates, and groups of subscribers that may join late and churn, as in Gryphon, section 5.2."""

    kind: Literal["topics"]
    publications: TopicPublications
    """Generated publishers."""
    subscriptions: tuple[SubscriberGroup, ...] = ()
    """Groups of generated subscribers."""
    operations: tuple[OperationItem, ...] = ()
    """Operations written out one by one, besides the generated ones."""

    @model_validator(mode="after")
    def _subscribes_to_what_there_is(self) -> TopicsWorkload:
        topics = self.publications.topics
        for index, group in enumerate(self.subscriptions):
            first, last = group.topics_of(topics)
            if last > topics:
                raise ValueError(f"subscriptions[{index}].topics: topic {last} is not one of the topics 1 to {topics}")
            if group.topics_each != "all" and group.topics_each > last - first + 1:
                raise ValueError(
                    f"subscriptions[{index}].topics_each: {group.topics_each} topics, but the group has only "
                    f"{last - first + 1}; write `all` for all of them"
                )
        if (made := sum(group.subscribers for group in self.subscriptions)) > MOST_SUBSCRIPTIONS:
            raise ValueError(f"makes {made:,} subscriptions; there may be {MOST_SUBSCRIPTIONS:,}")
        return self

    def publishers_on(self, brokers: int) -> int:
        return self.publications.topics

    def subscribers_on(self, brokers: int) -> int:
        return sum(group.subscribers for group in self.subscriptions)
