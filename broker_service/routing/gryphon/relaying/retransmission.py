"""Retransmission: answers to brokers that lack positions.

1. A broker answers from its cache, the publishers' broker from its log. What a broker does not know it asks for further
   up, and remembers who asked.
2. An answer is filtered like every publication, and goes to those who asked. Brokers of the same node may pass on
   requests of others, so that nothing is filtered for them, and only those positions are silent for them that hold
   nothing for anybody further down.
3. Positions that another neighbour waits for are not asked for further up again, unless a neighbour repeats its
   request, because then an answer may have been lost. A publication that is passed on to a neighbour anyway is not sent
   to it a second time as an answer.
4. Silence is answered in whole ranges, beyond what was asked for: a leaf that is told where one ends need not ask for
   the rest of it, and the one before a restarted broker's positions has four billion.
5. Requests that were passed on are repeated when a link further up comes up, and of another broker when one goes down,
   because the request or its answer may be lost. So those who asked need not guess how long that takes.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from broker_service.messages import BrokerId, Kind
from broker_service.routing.gryphon.overlay import NodeNumber
from broker_service.routing.gryphon.relaying.forwarding import Forwarding
from broker_service.routing.gryphon.relaying.log_upkeep import LogUpkeep
from broker_service.routing.gryphon.streams.messages import MOST_ANSWERED, MOST_RANGES, Nack, require, require_ranges
from broker_service.routing.gryphon.streams.publications import Cached
from broker_service.routing.gryphon.streams.ranges import Range, RangeSet
from broker_service.routing.gryphon.streams.state import StreamState
from broker_service.routing.interface import Action, Send

_MOST_ASKED: Final = 4_000
"""Ranges that a neighbour may wait for. Beyond, all are forgotten: it asks again."""


class Retransmission:
    """The answers of one broker to requests for positions that other brokers lack."""

    def __init__(self, forwarding: Forwarding, upkeep: LogUpkeep) -> None:
        self._upkeep = upkeep
        self._forwarding = forwarding

    def receive_nack(self, neighbour: BrokerId, nack: Nack) -> list[Action]:
        """Answers a negative acknowledgement, and asks further up for what is not known here."""
        require_ranges(nack.ranges)
        forwarding = self._forwarding
        state = forwarding.state(nack.stream)
        is_peer = neighbour in forwarding.view.peers
        require(is_peer or forwarding.node_of(neighbour) != state.upstream, "sender")
        actions: list[Action] = []
        silent = RangeSet()
        unknown: list[Range] = []
        for start, end in nack.ranges:
            known = self._silent(state, neighbour, start, end)
            for part in known:
                silent.add(*part)
            for first, behind in known.absent(max(start, state.first), end):
                held = self._held(nack.stream, state, first, behind)
                for position, cached in held:
                    actions += self._answer(state, neighbour, position, cached, silent)
                unknown += RangeSet((position, position + 1) for position, _ in held).absent(first, behind)
        actions += forwarding.silences(nack.stream, neighbour, silent)
        node = forwarding.node_of(neighbour)
        if nack.ranges and nack.ranges[0][0] < state.first and (lost := forwarding.lost(state, node)):
            actions += forwarding.announce_end(nack.stream, (node,), lost, neighbour)[0]
        if unknown and nack.stream != forwarding.view.leaf:
            actions += self._ask_further_up(nack.stream, state, neighbour, unknown)
        return actions

    def answer_waiting(self, state: StreamState, position: int, cached: Cached, sent: Iterable[Action]) -> list[Action]:
        """A publication has come that brokers may have asked for; `sent` is what passes it on."""
        forwarding, asked = self._forwarding, state.asked
        reached = {each.neighbour for each in sent if isinstance(each, Send) and each.message.kind is Kind.PUBLISH}
        actions: list[Action] = []
        for neighbour, wanted in asked.items():
            if position not in wanted:
                continue
            wanted.remove(position, position + 1)
            if forwarding.is_up(neighbour) and neighbour not in reached:
                silent = RangeSet()
                actions += self._answer(state, neighbour, position, cached, silent)
                actions += forwarding.silences(state.stream, neighbour, silent)
        return actions

    def ask_again(self, state: StreamState) -> list[Action]:
        """Asks further up for all that neighbours wait for (rule 5)."""
        target = self._forwarding.upstream(state, 0)
        waited_for = RangeSet()
        for wanted in state.asked.values():
            for part in wanted:
                waited_for.add(*part)
        return self._nacks(target, state.stream, list(waited_for)) if target else []

    def unsent(self, state: StreamState, node: NodeNumber) -> list[Action]:
        """Sends a node the publications that came while no broker of it could be reached. Those that this broker does
        not keep any more the node asks for."""
        forwarding, actions, clients = self._forwarding, list[Action](), self._forwarding.clients
        for start, end in state.unsent.pop(node, ()):
            for position, cached in self._held(state.stream, state, start, end):
                vector = state.vectors.get(cached.digest)
                if vector is not None:
                    wanting = clients.wanting(cached.message)
                    actions += forwarding.send_on(state, position, cached, vector, (node,), wanting=wanting)
        return actions

    def _nacks(self, target: BrokerId, stream: NodeNumber, ranges: list[Range]) -> list[Action]:
        """The messages that ask a broker for ranges."""
        parts = (tuple(ranges[place : place + MOST_RANGES]) for place in range(0, len(ranges), MOST_RANGES))
        return [self._forwarding.control(target, Nack(stream, part)) for part in parts]

    def _ask_further_up(
        self, stream: NodeNumber, state: StreamState, neighbour: BrokerId, unknown: list[Range]
    ) -> list[Action]:
        asked = state.asked[neighbour]
        if asked.count > _MOST_ASKED:
            asked = state.asked[neighbour] = RangeSet()
        joined = RangeSet()
        for wanted in (ranges for other, ranges in state.asked.items() if other != neighbour):
            for start, end in unknown:
                for part in wanted.within(start, end):
                    joined.add(*part)
        for start, end in unknown:
            for part in asked.within(start, end):
                joined.remove(*part)
            asked.add(start, end)
        new = [part for start, end in unknown for part in joined.absent(start, end)]
        target = self._forwarding.upstream(state, 0)
        return self._nacks(target, stream, new) if target else []

    def _silent(self, state: StreamState, neighbour: BrokerId, start: int, end: int) -> RangeSet:
        """Silent ranges for a neighbour that touch a range, as far as this broker knows: positions in them hold nothing
        for it."""
        known = RangeSet(state.silent.touching(start, end))
        kept_from = min(self._forwarding.lost(state, self._forwarding.node_of(neighbour)).values(), default=state.first)
        known.add(start, min(end, kept_from))
        node = self._forwarding.view.node_of.get(neighbour)
        for part in state.silent_for[node].touching(start, end) if node is not None else ():
            known.add(*part)
        return known

    def _held(self, stream: NodeNumber, state: StreamState, start: int, end: int) -> list[tuple[int, Cached]]:
        """Publications of a range that this broker has, the first ones."""
        if stream == self._forwarding.view.leaf:
            return self._upkeep.kept(start, end, MOST_ANSWERED)
        positions = range(start, end) if end - start <= len(state.cache) else sorted(state.cache)
        found = [(place, state.cache[place]) for place in positions if start <= place < end and place in state.cache]
        return [(place, cached) for place, cached in found if cached.digest in state.vectors][:MOST_ANSWERED]

    def _answer(
        self, state: StreamState, neighbour: BrokerId, position: int, cached: Cached, silent: RangeSet
    ) -> list[Action]:
        """Sends a publication to a broker that has asked for it, or notes that it holds nothing for that one."""
        forwarding = self._forwarding
        vector = state.vectors.get(cached.digest)
        node = forwarding.node_of(neighbour)
        if vector is None:
            return []
        is_filtered = node in forwarding.view.members and forwarding.is_sufficient(
            state.stream, node, cached.digest, vector
        )
        if is_filtered and node not in forwarding.clients.wanting(cached.message):
            state.silent_for[node].add(position, position + 1)
            silent.add(position, position + 1)
            return []
        return [forwarding.send_again(state, node, neighbour, position, cached=cached, vector=vector)]
