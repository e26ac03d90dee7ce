"""Channelization: an event space partitioned offline into multicast channels (MEDYM, section 2.2)."""

from broker_service.routing.channelization.options import ChannelizationOptions
from broker_service.routing.channelization.router import ChannelizationRouter

__all__ = ["ChannelizationOptions", "ChannelizationRouter"]
