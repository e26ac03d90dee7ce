"""Defects of routers, spread over all protocols."""

from __future__ import annotations

import itertools

import msgspec
import numpy as np

from broker_service.links.overlay_link import OverlayLink
from broker_service.messages import Kind
from broker_service.routing.cbf import sums as cbf_sums
from broker_service.routing.cbf.router import CbfRouter
from broker_service.routing.channelization.event_space import EventSpace
from broker_service.routing.channelization.router import ChannelizationRouter
from broker_service.routing.common.congestion import Congestion
from broker_service.routing.common.recognition import RecognisedPublications
from broker_service.routing.gryphon.clients import AwaitedStarts, Clients
from broker_service.routing.gryphon.relaying.reception import Reception
from broker_service.routing.gryphon.relaying.relay import Relay as GryphonRelay
from broker_service.routing.gryphon.router import GryphonRouter
from broker_service.routing.gryphon.streams.publisher_log import PublisherLog
from broker_service.routing.interface import AnnounceStart, Deliver, Router, Send
from broker_service.routing.medym.announcements.relay import Announcing
from broker_service.routing.medym.multicast import destination_lists, routing_functions
from broker_service.routing.medym.multicast.decisions import Decisions
from broker_service.routing.medym.router import MedymRouter
from broker_service.routing.medym.sums import KnownSums
from broker_service.routing.octopia import publications as octopia_publications
from broker_service.routing.octopia.dynamic import InterClusterDynamicRouting
from broker_service.routing.octopia.forwarding import StaticRouting
from broker_service.routing.octopia.router import OctopiaRouter
from broker_service.routing.octopia.tables import PublicationRoutingTable as OctopiaTable
from broker_service.routing.semi_probabilistic.router import SemiProbabilisticRouter
from broker_service.routing.semi_probabilistic.subscriptions import SubscriptionTable
from broker_service.routing.tid.bindings import Bindings
from broker_service.routing.tid.publications import Copies, DynamicForwarding, FixedForwarding
from broker_service.routing.tid.publications import Publications as TidPublications
from broker_service.routing.tid.router import TidRouter
from broker_service.routing.tid.tables import PublicationRoutingTable as TidTable
from tests.gauntlet import scenarios
from tests.gauntlet.model import Area
from tests.gauntlet.planting import EveryNth, around
from tests.gauntlet.rows import plants
from tests.gauntlet.scenarios import Scenario

AREA = Area("routers")

LOST = r"^lost: \S+ for "
DUPLICATED = r"^duplicated: \S+ for "
SPURIOUS = r"^spurious: \S+ for "
REORDERED = r"^reordered: "
STATE_LEFT = r"B\d|a\d|state left"

_BY_PROTOCOL: tuple[tuple[Scenario, type[Router]], ...] = (
    (scenarios.TID_FIXED, TidRouter),
    (scenarios.TID_DYNAMIC, TidRouter),
    (scenarios.OCTOPIA, OctopiaRouter),
    (scenarios.OCTOPIA_DYNAMIC, OctopiaRouter),
    (scenarios.MEDYM_MST, MedymRouter),
    (scenarios.MEDYM_CLOSE, MedymRouter),
    (scenarios.MEDYM_BALANCED, MedymRouter),
    (scenarios.MEDYM_SOURCE, MedymRouter),
    (scenarios.CBF, CbfRouter),
    (scenarios.CHANNELIZATION, ChannelizationRouter),
    (scenarios.GRYPHON, GryphonRouter),
    (scenarios.SEMI_FLOOD, SemiProbabilisticRouter),
)
"""Every protocol, with its own ways to route."""

_ORDERED = frozenset({scenarios.TID_FIXED.name, scenarios.OCTOPIA.name, scenarios.CBF.name, scenarios.GRYPHON.name})
_REPAIRS_LOSSES = scenarios.GRYPHON.name

for _scenario, _router in _BY_PROTOCOL:
    if _scenario.name != _REPAIRS_LOSSES:
        AREA.add(f"{_scenario.name}: loses a third", _scenario, lambda r=_router: plants.loses(r), LOST)
    AREA.add(f"{_scenario.name}: forgets to notify", _scenario, lambda r=_router: plants.forgets_to_notify(r), LOST)
    AREA.add(f"{_scenario.name}: notifies twice", _scenario, lambda r=_router: plants.notifies_twice(r), DUPLICATED)
    AREA.add(
        f"{_scenario.name}: notifies everybody", _scenario, lambda r=_router: plants.notifies_everybody(r), SPURIOUS
    )
    AREA.add(
        f"{_scenario.name}: ignores unsubscriptions",
        _scenario,
        lambda r=_router: plants.ignores_unsubscriptions(r),
        SPURIOUS,
    )
    if _scenario.name in _ORDERED:
        AREA.add(f"{_scenario.name}: swaps pairs", _scenario, lambda r=_router: plants.swaps_pairs(r), REORDERED)


# TID


@AREA.row(scenarios.TID_LATE, LOST)
def tid_binds_no_subscription_to_trees_it_knows_later() -> None:
    around(Bindings, "bind_local", lambda original, self, row: [])


@AREA.row(scenarios.TID_FIXED, DUPLICATED)
def tid_forwards_own_publications_twice() -> None:
    plants.forwards_twice(TidRouter)


@AREA.row(scenarios.TID_LINE, LOST)
def tid_budget_is_one_hop_short() -> None:
    around(FixedForwarding, "longest", lambda original, self, routes, tid: max(1, original(self, routes, tid) - 1))


@AREA.row(scenarios.TID_DYNAMIC, LOST)
def tid_dynamic_sees_no_route_at_its_last_hop() -> None:
    around(
        DynamicForwarding,
        "choose",
        lambda original, self, routes, arrival: None if arrival.budget == 1 else original(self, routes, arrival),
    )


@AREA.row(scenarios.TID_FIXED, LOST)
def tid_sends_no_copy_to_the_last_of_its_next_hops() -> None:
    def sends(original, self, message):
        copies = original(self, message)
        return copies[:-1] if len(copies) > 1 else copies

    around(Copies, "sends", sends)


@AREA.row(scenarios.TID_FIXED, LOST)
def tid_notifies_only_the_first_client_of_a_list() -> None:
    def receive(original, self, neighbour, message):
        actions = original(self, neighbour, message)
        return [Deliver(one.clients[:1], one.message) if isinstance(one, Deliver) else one for one in actions]

    around(TidPublications, "receive", receive)


@AREA.row(scenarios.TID_FIXED, LOST)
def tid_forgets_other_subscriptions_of_a_home_when_one_leaves() -> None:
    def remove(original, self, entry):
        original(self, entry)
        for other in self.by_home.get(entry.home_name, {}).copy():
            del self.by_home[entry.home_name][other]

    around(TidTable, "remove", remove)


# OctopiA


@AREA.row(scenarios.OCTOPIA, LOST)
def octopia_skips_other_clusters() -> None:
    around(
        StaticRouting,
        "route",
        lambda original, self, onward: original(self, msgspec.structs.replace(onward, civ=0)),
    )


@AREA.row(scenarios.OCTOPIA, LOST)
def octopia_skips_its_last_neighbour() -> None:
    around(
        StaticRouting,
        "route",
        lambda original, self, onward: original(self, msgspec.structs.replace(onward, a_links=onward.a_links[:-1])),
    )


@AREA.row(scenarios.OCTOPIA_DYNAMIC, LOST)
def octopia_dynamic_has_no_carrier_for_overloaded_links() -> None:
    around(Congestion, "is_overloaded", lambda original, self, neighbour: True)
    around(InterClusterDynamicRouting, "_carrier", lambda original, self, left, free, onward: None)


@AREA.row(scenarios.OCTOPIA, SPURIOUS)
def octopia_keeps_withdrawn_subscriptions_in_its_index() -> None:
    def remove(original, self, row):
        original(self, row)
        self.matcher.add(row, row.subscription)

    around(OctopiaTable, "remove", remove)


@AREA.row(scenarios.OCTOPIA, DUPLICATED)
def octopia_sends_each_copy_twice() -> None:
    around(octopia_publications, "_sends", lambda original, message, copies: original(message, [*copies, *copies]))


# MEDYM


@AREA.row(scenarios.MEDYM_CLOSE, LOST)
def medym_close_assigns_each_list_one_destination_too_few() -> None:
    def assigned(original, distances, next_hops, destinations):
        return original(distances, next_hops, destinations[:-1] if len(destinations) > 2 else destinations)

    around(routing_functions, "_assigned", assigned)


@AREA.row(scenarios.MEDYM_MST, LOST)
def medym_mst_leaves_out_one_branch() -> None:
    def mst(original, distances, server, destinations):
        branches = original(distances, server, destinations)
        return branches[:-1] if len(branches) > 1 else branches

    around(routing_functions, "mst", mst)


@AREA.row(scenarios.MEDYM_BALANCED, LOST)
def medym_balanced_leaves_out_overloaded_destinations() -> None:
    def balanced(original, distances, server, destinations, overloaded, candidates=16):
        left = destinations[~overloaded[destinations]]
        return original(distances, server, left, overloaded, candidates) if len(left) else []

    around(routing_functions, "balanced_mst", balanced)


@AREA.row(scenarios.MEDYM_SOURCE, LOST)
def medym_source_follows_the_first_branch_only() -> None:
    around(destination_lists.Tree, "branches", lambda original, self: list(original(self))[:1])


@AREA.row(scenarios.MEDYM_CLOSE, DUPLICATED)
def medym_sends_the_whole_list_to_every_neighbour() -> None:
    def assigned(original, distances, next_hops, destinations):
        return [routing_functions.Branch(hop, np.unique(np.append(destinations, np.uint16(hop)))) for hop in next_hops]

    around(routing_functions, "_assigned", assigned)
    around(RecognisedPublications, "note", lambda original, self, key: None)


@AREA.row(scenarios.MEDYM_CLOSE, LOST)
def medym_finds_no_server_beyond_the_second() -> None:
    around(KnownSums, "matching", lambda original, self, *arguments: original(self, *arguments)[:2])


@AREA.row(scenarios.MEDYM_CLOSE, LOST)
def medym_ignores_announcements_of_others() -> None:
    def announcements(original, self, neighbour, announcements):
        return original(self, neighbour, [one for one in announcements if one.server % 2])

    around(Announcing, "receive", announcements)


@AREA.row(scenarios.MEDYM_ADVERTISED, LOST)
def medym_advertised_ignores_every_other_subscription() -> None:
    """Always the same ones, because a subscription that is not confirmed is sent again."""

    def receive(original, self, neighbour, message):
        wrong = message.kind is Kind.SUBSCRIBE and plants.drawn(message.id, 1 / 2)
        return [] if wrong else original(self, neighbour, message)

    around(MedymRouter, "receive", receive)


@AREA.row(scenarios.MEDYM_ADVERTISED.but("medym, advertised, longer", {"timeline.run": "9s"}), LOST)
def medym_advertised_repeats_what_is_ignored_under_new_names() -> None:
    """Each repetition looks like a subscription of its own that is still spreading."""
    names: dict[str, str] = {}
    again = itertools.count(1000)

    def put(original, self, message):
        if message.kind is Kind.SUBSCRIBE:
            name = f"{message.id.rpartition('.')[0]}.{next(again)}"
            names[name] = message.id
            message = msgspec.structs.replace(message, id=name)
        original(self, message)

    def receive(original, self, neighbour, message):
        wrong = message.kind is Kind.SUBSCRIBE and plants.drawn(names[message.id], 1 / 2)
        return [] if wrong else original(self, neighbour, message)

    around(OverlayLink, "put", put)
    around(MedymRouter, "receive", receive)


@AREA.row(scenarios.MEDYM_CLOSE, LOST)
def medym_makes_no_first_copies_of_some() -> None:
    skip = EveryNth(4)
    around(Decisions, "first_copies", lambda original, self, responsible: [] if skip() else original(self, responsible))


# Content-based forwarding


@AREA.row(scenarios.CBF, LOST)
def cbf_forwards_to_one_neighbour_only() -> None:
    def change(router, actions):
        sends = [one for one in actions if isinstance(one, Send)]
        return [*(one for one in actions if not isinstance(one, Send)), *sends[:1]]

    plants.changes_publications(CbfRouter, change)


@AREA.row(scenarios.CBF, LOST)
def cbf_tells_no_neighbour_of_a_second_direction() -> None:
    def add_direction(original, self, neighbour, entry, hops):
        self._table.add(entry, neighbour)
        return ()

    around(CbfRouter, "_add_direction", add_direction)


@AREA.row(scenarios.CBF_COVERING, LOST)
def cbf_takes_intersecting_subscriptions_for_covered() -> None:
    around(cbf_sums, "covers", lambda original, first, second: True)


@AREA.row(scenarios.CBF, DUPLICATED)
def cbf_forwards_own_publications_twice() -> None:
    plants.forwards_twice(CbfRouter)


# Channelization


@AREA.row(scenarios.CHANNELIZATION, LOST)
def channelization_puts_every_publication_into_the_first_cell() -> None:
    around(EventSpace, "cell_of", lambda original, self, attributes: 0)


@AREA.row(scenarios.CHANNELIZATION, LOST)
def channelization_hands_publications_to_no_channel_of_others() -> None:
    def publish(original, self, *arguments):
        return [one for one in original(self, *arguments) if isinstance(one, Deliver)][:1]

    around(ChannelizationRouter, "publish", publish)


@AREA.row(scenarios.CHANNELIZATION, LOST)
def channelization_ends_trees_at_their_second_server() -> None:
    def receive(original, self, neighbour, message):
        actions = original(self, neighbour, message)
        if message.kind is Kind.PUBLISH and message.hops > 1:
            return [one for one in actions if isinstance(one, Deliver)]
        return actions

    around(ChannelizationRouter, "receive", receive)


# Gryphon


@AREA.row(scenarios.GRYPHON, LOST)
def gryphon_takes_publications_for_silence() -> None:
    drop = EveryNth(7)

    def publication(original, self, state, start, position, *, message, vector, again):
        if drop():
            self.silence(state, start, position + 1)
            return self.moved(state)
        return original(self, state, start, position, message=message, vector=vector, again=again)

    around(Reception, "publication", publication)


@AREA.row(scenarios.GRYPHON, r"^start not announced|was not announced")
def gryphon_announces_no_start() -> None:
    def completed(original, self, actions):
        return [one for one in original(self, actions) if not isinstance(one, AnnounceStart)]

    around(GryphonRouter, "_completed", completed)


@AREA.row(scenarios.GRYPHON, LOST)
def gryphon_announces_starts_at_once() -> None:
    def take(original, self, reached):
        return original(self, max(self._times.values(), default=0) or reached)

    around(AwaitedStarts, "take", take)
    around(GryphonRelay, "receive_publication", _late_subscriptions_get_nothing)


def _late_subscriptions_get_nothing(original, self, neighbour, message):
    actions = original(self, neighbour, message)
    return [
        msgspec.structs.replace(one, clients=tuple(client for client in one.clients if client != "Cid"))
        if isinstance(one, Deliver)
        else one
        for one in actions
    ]


@AREA.row(scenarios.GRYPHON, LOST)
def gryphon_takes_new_publications_for_repeats() -> None:
    again = EveryNth(6)
    around(PublisherLog, "is_repeat", lambda original, self, client, id: again() or original(self, client, id))


@AREA.row(scenarios.GRYPHON_CUT_OFF, LOST)
def gryphon_gives_up_without_a_word() -> None:
    around(Clients, "announce_loss", lambda original, self, state, lost: [])


@AREA.row(scenarios.GRYPHON, LOST)
def gryphon_calls_publications_lost_that_it_need_not_give_up() -> None:
    drop = EveryNth(7)

    def publication(original, self, state, start, position, *, message, vector, again):
        if drop():
            state.horizon.lose(position, position + 1)
            return self.moved(state)
        return original(self, state, start, position, message=message, vector=vector, again=again)

    around(Reception, "publication", publication)


@AREA.row(scenarios.GRYPHON_FLOODING, LOST)
def gryphon_flooding_forgets_to_notify() -> None:
    plants.forgets_to_notify(GryphonRouter)


# Semi-probabilistic routing


@AREA.row(scenarios.SEMI, DUPLICATED)
def semi_recognises_nothing() -> None:
    around(RecognisedPublications, "note", lambda original, self, key: None)
    around(
        SemiProbabilisticRouter,
        "_forwarded",
        lambda original, self, message, *rest: original(self, message, *rest) if message.hops < 4 else [],
    )


@AREA.row(scenarios.SEMI, r"^below expectation|below expectation|^lost: ")
def semi_forwards_to_nobody_it_does_not_know() -> None:
    around(SemiProbabilisticRouter, "_forwarded", lambda original, self, *arguments: [])


@AREA.row(scenarios.SEMI, LOST)
def semi_spares_adjacent_subscribers() -> None:
    def forwarded(original, self, message, header, distances, source):
        return original(self, message, header, {to: max(2, hops) for to, hops in distances.items()}, source)[:1]

    around(SemiProbabilisticRouter, "_forwarded", forwarded)


_PARTED = {"at": "run+1s", "partition": [["B1", "B2", "B3"], "rest"], "for": "4s"}


@AREA.row(scenarios.SEMI.suffering("a partition", _PARTED, run="10s"), r"^lost: |below expectation")
def semi_forwards_to_nobody_any_more_once_it_was_parted() -> None:
    parted: set[int] = set()
    around(SemiProbabilisticRouter, "link_down", lambda original, self, to: parted.add(id(self)) or original(self, to))
    around(
        SemiProbabilisticRouter,
        "_forwarded",
        lambda original, self, *arguments: [] if id(self) in parted else original(self, *arguments),
    )


@AREA.row(scenarios.SEMI_FLOOD, SPURIOUS)
def semi_keeps_withdrawn_subscriptions() -> None:
    around(SubscriptionTable, "unsubscribe", lambda original, self, id: [])


# State that only the tables show

_LEAVING = {"timeline.withdraw": "5s"}


@AREA.row(scenarios.TID_FIXED.but("tid fixed, withdrawn", _LEAVING), r"^state left|after all clients had left")
def tid_tells_no_neighbour_of_unsubscriptions() -> None:
    def unsubscribe(original, self, client, id):
        original(self, client, id)
        return []

    around(TidRouter, "unsubscribe", unsubscribe)


@AREA.row(scenarios.CBF.but("cbf, withdrawn", _LEAVING), r"^state left|after all clients had left")
def cbf_tells_no_neighbour_of_unsubscriptions() -> None:
    def unsubscribe(original, self, client, id):
        original(self, client, id)
        return ()

    around(CbfRouter, "unsubscribe", unsubscribe)


@AREA.row(scenarios.OCTOPIA.but("octopia, withdrawn", _LEAVING), r"^state left|after all clients had left")
def octopia_tells_no_neighbour_of_unsubscriptions() -> None:
    def unsubscribe(original, self, client, id):
        original(self, client, id)
        return []

    around(OctopiaRouter, "unsubscribe", unsubscribe)
