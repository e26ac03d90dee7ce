"""Options of channelization."""

from __future__ import annotations

from collections.abc import Mapping

from broker_service.messages import BrokerId
from broker_service.routing.channelization.plan import plans
from broker_service.routing.options import Preparation, ProtocolOptions
from record.promises import Promises

MOST_CHANNELS = 10_000


class ChannelizationOptions(ProtocolOptions, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The scenario's `routing` section for this protocol."""

    channels: int = 50
    """Channels that the event space is partitioned into (section 5.1.3)."""
    attribute: str = ""
    """The attribute by whose values the event space is partitioned; empty: the one of which subscriptions name most."""

    def __post_init__(self) -> None:
        if not 1 <= self.channels <= MOST_CHANNELS:
            raise ValueError(f"channels must be from 1 to {MOST_CHANNELS:,}")

    @property
    def awaits_advertisements(self) -> bool:
        return False

    @property
    def promises(self) -> Promises:
        """The promises of the protocol: no order, because publications of one publisher take the trees of several
        channels."""
        return Promises()

    def prepare(self, preparation: Preparation) -> Mapping[BrokerId, bytes]:
        """The plan of each server: the partition and its place in every tree."""
        return plans(preparation, self.channels, self.attribute)
