"""Canaries: the quiet of an overlay whose brokers do not tell what they do (level 1 of the contract of a broker).

A client at each broker subscribes anew, and then each of these clients publishes until its publication has come to
every other one. What the broker's clients declared or published before has then taken effect everywhere, because
brokers keep the order on each path (R-6 in docs/broker-contract.md). A *round* is one such exchange. Rounds follow one
another for as long as somebody looks; no canary is published while nobody does, as during the run itself.
"""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import product

from broker_service.client_library import client_session
from broker_service.client_library.client_session import ClientSession
from broker_service.language import Advertisement, Operator, Predicate, Publication, Subscription
from broker_service.language.content import encode_predicates, encode_publication
from broker_service.messages import ClientEvent, Operation, Outcome
from emulation.live_overlay import ExpectedOverlay, UnsettledError
from record.contract import CANARY
from topology.link_properties import BrokerId

_SUBSCRIPTION = "canary"
_AGAIN = 0.1
"""Seconds after which publications that have not come everywhere are repeated, and between two rounds."""
_WATCHED_FOR = 1.5
"""Seconds after a look for which rounds go on."""
_PATIENCE = 2.0
"""Seconds since the beginning of the latest whole round after which brokers count as busy."""
_MOST_NAMED = 5

Pair = tuple[BrokerId, BrokerId]
"""A broker that publishes, and one that is to be notified."""


@dataclass
class _Round:
    number: int
    began: float
    pairs: int = 0
    missing: set[Pair] = field(default_factory=set)


class Canaries:
    """The canaries of one overlay, in a thread of their own. They begin with the first look."""

    def __init__(self, addresses: Mapping[BrokerId, str], expected: ExpectedOverlay) -> None:
        self._expected = expected
        self._addresses = addresses
        self._sessions: dict[BrokerId, ClientSession] = {}
        self._round = _Round(0, 0.0)
        self._whole = 0.0
        """Beginning of the latest round that has come everywhere; 0 before the first."""
        self._watched = 0.0
        self._loop = asyncio.new_event_loop()
        self._thread: threading.Thread | None = None

    @property
    def whole(self) -> float:
        """The time of the monotonic clock at which the latest whole round began; 0 without any."""
        return self._whole

    @property
    def missing(self) -> Sequence[Pair]:
        """Pairs between which no canary has come yet, in the present round."""
        return sorted(self._round.missing.copy())

    @property
    def brokers(self) -> list[BrokerId]:
        """Brokers that have a canary."""
        return list(self._expected.running)

    @property
    def progress(self) -> int:
        """Brokers that have welcomed their canary, and pairs between which one has come in the present round."""
        return len(self._sessions) + self._round.pairs - len(self._round.missing)

    @property
    def silent(self) -> list[BrokerId]:
        """Brokers that have not welcomed their canary."""
        return [broker for broker in self._expected.running if broker not in self._sessions]

    def watch(self) -> None:
        """Has rounds made for some time from now on."""
        self._watched = time.monotonic()
        if self._thread is None:
            # A session that breaks is no news here, and another one follows.
            logging.getLogger(client_session.__name__).setLevel(logging.ERROR)
            self._thread = threading.Thread(target=self._loop.run_until_complete, args=(self._serve(),), daemon=True)
            self._thread.start()

    def close(self) -> None:
        """Ends the canaries' sessions."""
        if self._thread is not None:
            self._watched = -1.0
            self._thread.join()
        self._loop.close()

    # In the thread

    async def _serve(self) -> None:
        opening = [asyncio.create_task(self._open(broker)) for broker in self._addresses]
        while self._watched >= 0:
            if time.monotonic() - self._watched < _WATCHED_FOR and self._thread is not None:
                await self._make_round()
            await asyncio.sleep(_AGAIN)
        for task in opening:
            task.cancel()
        await asyncio.gather(*opening, return_exceptions=True)
        await asyncio.gather(*(session.close() for session in self._sessions.values()))

    async def _open(self, broker: BrokerId) -> None:
        session = ClientSession(self._addresses[broker], partial(self._notified, broker))
        try:
            await session.open(None)
        except asyncio.CancelledError:
            await session.close()
            raise
        session.submit(_client(broker), Operation.ATTACH)
        advertised = Advertisement((_is_canary(), Predicate("round", Operator.GREATER, 0)))
        session.submit(_client(broker), Operation.ADVERTISE, _SUBSCRIPTION, encode_predicates(advertised.predicates))
        self._sessions[broker] = session

    async def _make_round(self) -> None:
        """One round, which ends when it has come everywhere, when the overlay has changed, or when nobody looks."""
        brokers, wanted_pairs = self._expected.running, set(joined(self._expected))
        if not self._sessions.keys() >= set(brokers):
            return
        made = self._round = _Round(self._round.number + 1, time.monotonic(), len(wanted_pairs), set(wanted_pairs))
        wanted = Subscription((_is_canary(), Predicate("round", Operator.EQUAL, made.number)))
        for broker in brokers:
            self._sessions[broker].submit(
                _client(broker), Operation.SUBSCRIBE, _SUBSCRIPTION, encode_predicates(wanted.predicates)
            )
        while made.missing and time.monotonic() - self._watched < _WATCHED_FOR:
            if set(joined(self._expected)) != wanted_pairs:
                return
            for broker in {source for source, _ in made.missing}:
                self._publish(broker, made.number)
            await asyncio.sleep(_AGAIN)
        if not made.missing:
            self._whole = made.began

    def _publish(self, broker: BrokerId, number: int) -> None:
        session = self._sessions[broker]
        if not session.waiting:
            content = encode_publication(Publication({"class": CANARY, "round": number}))
            session.submit(_client(broker), Operation.PUBLISH, broker, content)

    def _notified(self, broker: BrokerId, event: ClientEvent) -> None:
        if event.outcome is Outcome.NOTIFIED and event.body == encode_publication(
            Publication({"class": CANARY, "round": self._round.number})
        ):
            self._round.missing.discard((event.id, broker))


class CanaryWatch:
    """A `QuietWatch` by canaries."""

    def __init__(self, canaries: Canaries, require_running: Callable[[], None], wait: Callable[[float], None]) -> None:
        self._canaries = canaries
        self._require_running = require_running
        self._wait = wait
        self._since = time.monotonic()
        self._quiet_since: float | None = None

    @property
    def busy(self) -> list[BrokerId]:
        if self._quiet_since is not None:
            return []
        return sorted({target for _, target in self._canaries.missing}) or self._canaries.brokers

    @property
    def quiet_for(self) -> float:
        return 0.0 if self._quiet_since is None else time.monotonic() - self._quiet_since

    def look(self, end: int) -> None:
        self._canaries.watch()
        whole = self._canaries.whole
        if whole < self._since or time.monotonic() - whole > _PATIENCE:
            self._quiet_since = None
        elif self._quiet_since is None:
            self._quiet_since = whole

    def settle(self, within: float) -> None:
        """Returns once a round that begins from now on has come everywhere. Raises `UnsettledError`."""
        begin = time.monotonic()
        while self._canaries.whole < begin:
            self._canaries.watch()
            self._require_running()
            if time.monotonic() - begin > within:
                raise UnsettledError(f"not settled after {within:g} seconds: {self.obstacle}")
            self._wait(_AGAIN / 2)

    def unmoved(self) -> bool:
        try:
            self.settle(_PATIENCE)
        except UnsettledError:
            return False
        return True

    @property
    def obstacle(self) -> str:
        """The pairs of brokers between which no canary has come."""
        missing = self._canaries.missing
        shown = ", ".join(f"{source} to {target}" for source, target in missing[:_MOST_NAMED])
        further = f" and {len(missing) - _MOST_NAMED:,} others" if len(missing) > _MOST_NAMED else ""
        return f"canaries have not come from {shown}{further}"


def _client(broker: BrokerId) -> str:
    return f"{CANARY} {broker}"


def _is_canary() -> Predicate:
    return Predicate("class", Operator.STRING_EQUAL, CANARY)


def joined(expected: ExpectedOverlay) -> Iterable[Pair]:
    """Every two running brokers between which links should work, and each broker with itself."""
    group = {broker: {broker} for broker in expected.running}
    for link in expected.links:
        if expected.works(link) and link.a in group and link.b in group and group[link.a] is not group[link.b]:
            group[link.a] |= group[link.b]
            for broker in group[link.b]:
                group[broker] = group[link.a]
    return ((source, target) for source, target in product(group, group) if target in group[source])
