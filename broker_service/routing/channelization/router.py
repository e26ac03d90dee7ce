"""Channelization at one server (MEDYM, section 2.2, which takes Riabov et al., ICDCS 2002, as its representative).

1. The event space is partitioned into channels before the run, and every server has the partition and its place in the
   multicast tree of each channel (`plan`).
2. The publication server looks up the channel of a publication. In the channel, it sends along the tree; outside of it,
   it hands the publication to the nearest server of the channel.
3. The channel's number travels along, with the partition's epoch; servers of the tree pass a publication on to all
   other neighbours in the tree without looking at its content. Each filters for its own clients.

Beyond the paper, whose partition is made once: a server whose clients subscribe to what the plan does not have joins
the channels concerned *late*. It tells all servers, and publication servers send it the events of these channels
directly, because a tree that changed under publications could lose or double them.

There is no way round a failed server in a tree, as the paper compares without any recovery.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping

import msgspec

from broker_service.language import Publication, Subscription
from broker_service.messages import BrokerId, ClientId, Kind, Message
from broker_service.routing.channelization.messages import (
    ChannelHeader,
    LateInterest,
    Leg,
    decode_channel,
    decode_interest,
    encode_interest,
)
from broker_service.routing.channelization.options import ChannelizationOptions
from broker_service.routing.channelization.plan import Place, read_partition, read_plan
from broker_service.routing.common.decoding import DispatchingRouter
from broker_service.routing.interface import (
    Action,
    Actions,
    Deliver,
    MalformedMessageError,
    Matcher,
    RouterContext,
    Send,
)


class ChannelizationRouter(DispatchingRouter):
    """Channelization at one broker. The module's docstring states the rules."""

    def __init__(self, context: RouterContext[ChannelizationOptions]) -> None:
        self._context = context
        plan = read_plan(context.prepared)
        self._epoch, self._places = plan.epoch, plan.places
        self._partition = read_partition(plan.partition)
        self._subscriptions: Matcher[tuple[ClientId, str]] = context.matcher()
        self._channels_of: dict[str, tuple[int, ...]] = {}
        """Channels of each client's subscription in which the plan does not have this server."""
        self._late: Counter[int] = Counter()
        """The number of such subscriptions by channel."""
        self._latecomers: dict[int, dict[BrokerId, None]] = {}
        """Servers that have joined channels late."""
        self._incarnations: dict[BrokerId, int] = {}
        super().__init__({Kind.PUBLISH: self._receive_publication, Kind.CONTROL: self._receive_interest})

    # Operations of clients

    def subscribe(self, client: ClientId, id: str, subscription: Subscription) -> Actions:
        self._subscriptions.add((client, id), subscription)
        cells = self._partition.space.cells_of(subscription)
        channels = dict.fromkeys(self._partition.channels[cell] for cell in cells)
        late = self._channels_of[id] = tuple(channel for channel in channels if not self._places[channel].member)
        joined = tuple(channel for channel in late if not self._late[channel])
        self._late.update(late)
        return self._announce(id, LateInterest(joined)) if joined else ()

    def unsubscribe(self, client: ClientId, id: str) -> Actions:
        self._subscriptions.remove((client, id))
        late = self._channels_of.pop(id)
        self._late.subtract(late)
        left = tuple(channel for channel in late if not self._late[channel])
        return self._announce(id, LateInterest((), left)) if left else ()

    def publish(self, client: ClientId, message: Message, publication: Publication, advertisement: str) -> Actions:
        channel = self._partition.channels[self._partition.space.cell_of(publication.attributes)]
        place = self._places[channel]
        keys = self._subscriptions.match_decoded(message.id, publication)
        return [
            *_delivered(keys, message),
            *_sends(message, self._header(channel, Leg.TREE if place.member else Leg.HANDED), place.neighbours),
            *_sends(message, self._header(channel, Leg.DIRECT), self._latecomers.get(channel, ())),
        ]

    # Messages of neighbours

    def _receive_publication(self, neighbour: BrokerId, message: Message) -> Actions:
        epoch, channel, leg = decode_channel(message.header)
        if epoch != self._epoch or channel >= len(self._places):
            raise MalformedMessageError(f"channel {channel} of epoch {epoch}, which is not this run's")
        place = self._places[channel]
        _check_leg(place, leg, neighbour)
        onward = [] if leg is Leg.DIRECT else [other for other in place.neighbours if other != neighbour]
        delivered = _delivered(self._subscriptions.match(message), message)
        header = message.header if leg is Leg.TREE else self._header(channel, Leg.TREE)
        return [*delivered, *_sends(message, header, onward)]

    def _receive_interest(self, neighbour: BrokerId, message: Message) -> Actions:
        interest = decode_interest(message.header)
        if not all(0 <= channel < len(self._places) for channel in (*interest.joined, *interest.left)):
            raise MalformedMessageError("it names channels that this run does not have")
        for channel in interest.joined:
            self._latecomers.setdefault(channel, {})[neighbour] = None
        for channel in interest.left:
            self._latecomers.get(channel, {}).pop(neighbour, None)
        return ()

    # Links

    def link_up(self, neighbour: BrokerId, incarnation: int) -> Actions:
        """A restarted server has forgotten who is late, and is not late itself until its clients subscribe again."""
        former = self._incarnations.get(neighbour)
        self._incarnations[neighbour] = incarnation
        if former is None or former == incarnation:
            return ()
        for latecomers in self._latecomers.values():
            latecomers.pop(neighbour, None)
        joined = tuple(channel for channel, subscriptions in self._late.items() if subscriptions)
        return [_told(neighbour, self._context.broker, LateInterest(joined))] if joined else ()

    def tables(self) -> Mapping[str, object]:
        space = self._partition.space
        return {
            "partition": {
                "attribute": space.attribute,
                "cells": len(space),
                "channels": len(self._places),
                "waste": self._partition.waste,
            },
            "channels": [channel for channel, place in enumerate(self._places) if place.member],
            "late": {str(channel): count for channel, count in self._late.items() if count},
            "latecomers": {str(channel): list(found) for channel, found in self._latecomers.items() if found},
        }

    def _announce(self, id: str, interest: LateInterest) -> list[Send]:
        return [_told(neighbour, id, interest) for neighbour in self._context.links]

    def _header(self, channel: int, leg: Leg) -> bytes:
        return ChannelHeader(self._epoch, channel, leg).encode()


def _check_leg(place: Place, leg: Leg, neighbour: BrokerId) -> None:
    """Raises `MalformedMessageError` for a publication that no correct server sends here."""
    if leg is not Leg.DIRECT and not place.member:
        raise MalformedMessageError("this server is not in its channel")
    if leg is Leg.TREE and neighbour not in place.neighbours:
        raise MalformedMessageError(f"{neighbour} is no neighbour in the tree of its channel")


def _sends(message: Message, header: bytes, neighbours: Collection[BrokerId]) -> list[Send]:
    if not neighbours:
        return []
    onward = msgspec.structs.replace(message, header=header, hops=message.hops + 1)
    return [Send(neighbour, onward) for neighbour in neighbours]


def _delivered(keys: list[tuple[ClientId, str]], message: Message) -> list[Action]:
    clients = tuple(dict.fromkeys(client for client, _ in keys))
    return [Deliver(clients, message)] if clients else []


def _told(neighbour: BrokerId, id: str, interest: LateInterest) -> Send:
    return Send(neighbour, Message(Kind.CONTROL, id, header=encode_interest(interest), hops=1), "late interest")
