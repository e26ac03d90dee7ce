"""Targets of faults: brokers and links as people write them.

    B7   hub   hub(2)   random(3)                                     brokers
    member-of(ib)   all-but-one(ib)   all-but-one                     brokers of nodes of a redundant tree
    B1-B2   B1->B2   bridge   busiest(2)   random-link(2)             links
    links-of(B3)   links-of(hub)   links-between(cluster)             links
    berlin-B3   berlin->B3   random-access(2)                         access links of sites
    berlin   S1   random-site   random-client(3)                      sites, and clients on them

`links-between(cluster)` are all links whose ends differ in the brokers' attribute `cluster`; any attribute will do.
A name means that broker or link, also where a role has the same. `->` is one direction only. `random` draws from the
brokers (`random-link`: links) that no earlier fault of the scenario names or draws, as long as there are enough, each
fault from a stream of its own: two faults that each kill `random(1)` kill two brokers.

`member-of(ib)` is one broker of the node `ib` of a redundant tree, and `all-but-one(ib)` leaves out one. Both are drawn
as `random` is. Without a node's name, `member-of` draws from all nodes of several brokers, and `all-but-one` leaves one
broker out of each of them.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import TypeVar

from scenario.faults.roles import BROKER_ROLES, LINK_ROLES, Demand, LinkEnds, links_between, links_order, overlay_order
from scenario.faults.site_targets import SiteTargets
from scenario.faults.target_words import Call, TargetError
from topology.link_properties import BrokerId, LinkDirection
from topology.model import Overlay
from topology.sites import Site
from topology.structures.redundant_tree import node_members

REST = "rest"
"""Name that, as a group of a partition, stands for all brokers that no other group has."""
RANDOM, RANDOM_LINK, LINKS_OF, LINKS_BETWEEN = "random", "random-link", "links-of", "links-between"
MEMBER_OF, ALL_BUT_ONE = "member-of", "all-but-one"
RANDOM_ACCESS = "random-access"

_Chosen = TypeVar("_Chosen", BrokerId, LinkEnds)
_Target = TypeVar("_Target")


class Targets:
    """Resolves what faults hit, one fault of a scenario after another."""

    def __init__(
        self,
        overlay: Overlay,
        seed: int,
        demand: Demand | None = None,
        *,
        later: Sequence[LinkEnds] = (),
        sites: Sequence[Site] = (),
    ) -> None:
        """`demand` is what `busiest` goes by: from every broker to every other when it is not known.

        `later` are pairs of brokers that the overlay links at a later time. Names of links, `links-of` and partitions
        take them in; roles and `random-link` choose from the links of the overlay alone, and never from those to
        `sites`.
        """
        self.overlay = overlay
        self._seed = seed
        self._demand = demand or Demand.everywhere(overlay)
        self._brokers = overlay_order(overlay)
        self._later = tuple(later)
        self.of_sites = SiteTargets(sites, self._sample)
        self._random = random.Random()
        self._hit_brokers: set[BrokerId] = set()
        self._hit_links: set[LinkEnds] = set()

    @cached_property
    def _links(self) -> list[LinkEnds]:
        """Listed for the first fault that hits links, because a mesh has very many."""
        return links_order(self.overlay)

    def begin(self, fault: int | str) -> None:
        """The fault with this number comes next, or targets of another part of the scenario, by its name."""
        self._random = random.Random(f"{self._seed}:fault:{fault}")

    def brokers(self, texts: Iterable[str]) -> tuple[BrokerId, ...]:
        """Each broker once, in the order written. Raises `TargetError`."""
        found = dict.fromkeys(broker for text in texts for broker in self._broker(text))
        self._hit_brokers.update(found)
        return tuple(found)

    def directions(self, texts: Iterable[str]) -> tuple[LinkDirection, ...]:
        """Directions, once each; both of a link, unless only one is written. Raises `TargetError`."""
        found = dict.fromkeys(direction for text in texts for direction in self._directions(text))
        self._hit_links.update(
            ends for ends in self._links if LinkDirection(*ends) in found or LinkDirection(*ends).reverse in found
        )
        return tuple(found)

    def partition(self, groups: Sequence[Sequence[str]]) -> tuple[LinkDirection, ...]:
        """The links between brokers of different groups, both directions; a broker in no group keeps its links.

        One group may be `rest`. Raises `TargetError` when a broker is in two groups, or nothing is parted.
        """
        member = self._members(groups)
        return self._parting(
            lambda source, target: {source, target} <= member.keys() and member[source] != member[target]
        )

    def one_way(self, source: Sequence[str], target: Sequence[str]) -> tuple[LinkDirection, ...]:
        """The directions in which brokers of `source` send to brokers of `target`. Raises `TargetError`."""
        member = self._members([source, target])
        return self._parting(lambda a, b: member.get(a) == 0 and member.get(b) == 1)

    def _members(self, groups: Sequence[Sequence[str]]) -> dict[BrokerId, int]:
        """The group of each broker that is in one."""
        named = [(index, self.brokers(group)) for index, group in enumerate(groups) if list(group) != [REST]]
        if len(named) + 1 < len(groups):
            raise TargetError(f"only one group can be `{REST}`")
        member: dict[BrokerId, int] = {}
        for index, brokers in named:
            for broker in brokers:
                if member.setdefault(broker, index) != index:
                    raise TargetError(f"{broker} is in two groups")
        for index, group in enumerate(groups):
            if list(group) == [REST]:
                member |= {broker: index for broker in self._brokers if broker not in member}
        return member

    def _parting(self, parted: Callable[[BrokerId, BrokerId], bool]) -> tuple[LinkDirection, ...]:
        both = _both((*self._links, *self._later))
        directions = tuple(direction for direction in both if parted(direction.source, direction.target))
        if not directions:
            raise TargetError("no link leads from one group to another")
        return directions

    def _broker(self, text: str) -> Sequence[BrokerId]:
        if text in self._brokers:
            return (text,)
        call = Call.of(text)
        if call.word == RANDOM:
            return self._drawn(call, self._brokers, self._hit_brokers, "brokers")
        if call.word == MEMBER_OF:
            return self._sample([broker for node in self._nodes(call) for broker in node], 1, self._hit_brokers)
        if call.word == ALL_BUT_ONE:
            return [
                broker for node in self._nodes(call) for broker in self._sample(node, len(node) - 1, self._hit_brokers)
            ]
        if call.word in BROKER_ROLES:
            return self._first(call, BROKER_ROLES)
        raise TargetError(f"the overlay has no broker {text!r}; {_choices('a broker', RANDOM, BROKER_ROLES)}")

    def _directions(self, text: str) -> Sequence[LinkDirection]:
        if (named := self._named_link(text)) is not None:
            return named
        call = Call.of(text)
        if call.word == LINKS_OF and call.argument:
            brokers = self._broker(call.argument)
            return _both(ends for ends in (*self._links, *self._later) if set(ends) & set(brokers))
        if call.word == RANDOM_ACCESS:
            return _both(self._drawn(call, self.of_sites.links(text), self._hit_links, "access links"))
        if call.word == RANDOM_LINK:
            return _both(self._drawn(call, self._links, self._hit_links, "links"))
        if call.word == LINKS_BETWEEN and call.argument:
            return _both(self._between(call.argument))
        if call.word in LINK_ROLES:
            return _both(self._first(call, LINK_ROLES))
        raise TargetError(
            f"the overlay has no link {text!r}; {_choices('a link such as B1-B2', RANDOM_LINK, LINK_ROLES)}"
        )

    def _named_link(self, text: str) -> Sequence[LinkDirection] | None:
        """A link by its ends. Names of brokers may have dashes in them, so that every dash is tried."""
        for dash in re.finditer("->?", text):
            source, target = text[: dash.start()].strip(), text[dash.end() :].strip()
            if (access := self.of_sites.direction(source, target)) is not None:
                return (access,) if dash.group() == "->" else (access, access.reverse)
            if {source, target} <= set(self._brokers):
                later = (source, target) in self._later or (target, source) in self._later
                if not later and target not in self.overlay.neighbours(source):
                    raise TargetError(f"{source} and {target} are not linked")
                direction = LinkDirection(source, target)
                return (direction,) if dash.group() == "->" else (direction, direction.reverse)
        return None

    def _between(self, attribute: str) -> list[LinkEnds]:
        """All links whose ends differ in an attribute. Raises `TargetError` where there are none."""
        if not (found := links_between(self.overlay, attribute)):
            raise TargetError(f"the overlay has no links whose ends differ in the attribute {attribute!r}")
        return found

    def _first(self, call: Call, roles: Mapping[str, Callable[[Overlay, Demand], list[_Chosen]]]) -> list[_Chosen]:
        playing = roles[call.word](self.overlay, self._demand)
        if len(playing) < call.count():
            raise TargetError(f"the overlay has {len(playing) or 'no'} {call.word}, not {call.count()}")
        return playing[: call.count()]

    def _drawn(self, call: Call, everything: list[_Chosen], hit: set[_Chosen], what: str) -> list[_Chosen]:
        count = call.count()
        if len(everything) < count:
            raise TargetError(f"{call.word}({count}): the overlay has {len(everything)} {what}")
        return self._sample(everything, count, hit)

    def _sample(self, everything: Sequence[_Target], count: int, hit: set[_Target]) -> list[_Target]:
        """Draws from what no earlier fault has hit where that is enough, and else from everything."""
        untouched = [target for target in everything if target not in hit]
        return self._random.sample(untouched if len(untouched) >= count else everything, count)

    def _nodes(self, call: Call) -> Sequence[Sequence[BrokerId]]:
        """The brokers of the node that is named, or of each node that holds several. Raises `TargetError`."""
        members = node_members(self.overlay) or {}
        shared = {node: brokers for node, brokers in members.items() if len(brokers) > 1}
        if call.argument is None and shared:
            return list(shared.values())
        if call.argument in shared:
            return [shared[call.argument]]
        wanted = f"no node {call.argument!r} of several brokers" if call.argument else "no node of several brokers"
        known = f"; such nodes are {', '.join(shared)}" if shared else ""
        raise TargetError(f"{call.word}: the overlay has {wanted}{known}")


def _both(links: Iterable[LinkEnds]) -> tuple[LinkDirection, ...]:
    return tuple(direction for ends in links for direction in (LinkDirection(*ends), LinkDirection(*ends).reverse))


def _choices(name: str, drawn: str, roles: Iterable[str]) -> str:
    return f"write {name}, {drawn}(n), or one of {', '.join(roles)}"
