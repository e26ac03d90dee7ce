"""Bounds of what the headers of routing protocols name, because a header is decoded and handled as a whole.

A neighbour decides on the size of what it sends, and each item of a header is work. So an item that no overlay can
justify is refused where the header is decoded, before any other work: an overlay has at most `MOST_BROKERS` brokers, a
broker fewer neighbours than that, and one tree for each broker that publishes.
"""

from __future__ import annotations

from typing import Annotated, Final

from msgspec import Meta

from broker_service.messages import MOST_HOPS, BrokerId

MOST_BROKERS: Final = MOST_HOPS
"""Brokers of the largest overlay."""

MOST_TREES: Final = 1 << 14
"""Trees that one subscription is bound to: at least one for each broker of the largest overlay."""

MOST_TREES_NAMED: Final = 1 << 11
"""Trees that one header names; a subscription to more of them travels in several messages."""

MOST_DECLARED: Final = 1 << 17
"""Advertisements or subscriptions of one broker that one header names: at least one for each client that a broker takes
by default."""

LONGEST_NAME: Final = 512
"""Code points of the name of a broker, a client or a subscription."""

Name = Annotated[str, Meta(max_length=LONGEST_NAME)]
BrokerName = Annotated[BrokerId, Meta(max_length=LONGEST_NAME)]
BrokerPath = Annotated[tuple[BrokerName, ...], Meta(max_length=MOST_BROKERS)]
Contents = Annotated[tuple[bytes, ...], Meta(max_length=MOST_DECLARED)]
"""Encoded predicates."""
