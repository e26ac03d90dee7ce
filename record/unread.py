"""The policy of brokers on notifications that a client does not read, named alike in scenarios and manifests."""

from __future__ import annotations

import enum

import msgspec

UNREAD = "client session does not read"
"""The beginning of the reason with which a broker logs a notification that it drops for a session that does not
read."""


class UnreadPolicy(enum.StrEnum):
    """The end of a notification for which a session has no room, because its client reads more slowly than they come.

    Under each, the client is told of it: by a number of lost notifications, or by the end of its session.
    """

    DROP_NEWEST = "drop newest"
    """The notification is dropped."""
    DROP_OLDEST = "drop oldest"
    """The notifications that have waited longest are dropped in its favour."""
    END_SESSION = "end the session"
    """The session ends, with all that waits for it. Its client opens another one and subscribes again."""


class SlowReaders(msgspec.Struct, frozen=True, kw_only=True):
    """The bounds of what brokers of a variant keep for each session, where clients read at a rate."""

    policy: UnreadPolicy
    notifications: int
    """Most notifications that wait."""
    bytes: int
    """Most bytes that wait."""
