"""Random runs of Gryphon's routers, and what every client must have got in the end."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from broker_service.routing.gryphon import GryphonRouter
from broker_service.routing.gryphon.overlay import RoutingTree
from broker_service.routing.interface import RouterContext
from tests.broker_service.routing.gryphon.router_overlay import LINES, RouterOverlay, StuckError

NUMBERS = range(6)
"""The numbers that publications have, of which each subscription wants one or two."""


@dataclass
class Subscribed:
    """One client with one subscription."""

    client: str
    broker: str
    wanted: range
    ended: int | None = None
    """Number of publications made when it was withdrawn, or its broker failed."""


@dataclass
class Published:
    """One publication, in the order of publishing."""

    id: str
    broker: str
    number: int


@dataclass
class Trial:
    """An overlay with clients that come and go."""

    overlay: RouterOverlay
    subscribed: list[Subscribed] = field(default_factory=list)
    published: list[Published] = field(default_factory=list)

    def subscribe(self, broker: str, wanted: range) -> str:
        client = f"S{len(self.subscribed)}"
        text = f"[class,eq,'E'],[n,>=,{wanted[0]}],[n,<=,{wanted[-1]}]"
        self.overlay.subscribe(client, broker, text)
        self.subscribed.append(Subscribed(client, broker, wanted))
        return client

    def unsubscribe(self, made: Subscribed) -> None:
        self.overlay.unsubscribe(made.client, made.broker)
        made.ended = len(self.published)

    def publish(self, broker: str, number: int) -> None:
        self.published.append(Published(self.overlay.publish(broker, number), broker, number))

    def kill(self, broker: str) -> None:
        self.overlay.kill(broker)
        for made in self.standing:
            if made.broker == broker:
                made.ended = len(self.published)

    @property
    def standing(self) -> list[Subscribed]:
        return [made for made in self.subscribed if made.ended is None]

    def churn(self, steps: int, faults: float) -> None:
        """Operations, messages, timers and faults in an order that the seed picks."""
        overlay, rng = self.overlay, self.overlay.random
        for _ in range(steps):
            event = rng.random()
            alive = sorted(overlay.brokers)
            if event < 0.03:
                first = rng.choice(NUMBERS)
                self.subscribe(rng.choice(alive), range(first, first + rng.randint(1, 2)))
            elif event < 0.05 and self.standing:
                self.unsubscribe(rng.choice(self.standing))
            elif event < 0.15:
                self.publish(rng.choice(alive), rng.choice(NUMBERS))
            elif event < 0.15 + faults:
                self._fault()
            elif event < 0.9:
                overlay.deliver()
            else:
                overlay.next_timer()

    def _fault(self) -> None:
        overlay, rng = self.overlay, self.overlay.random
        dead = [name for name in overlay.tree.brokers if name not in overlay.brokers]
        if dead and rng.random() < 0.5:
            overlay.restart(rng.choice(dead))
        elif overlay.cuts and rng.random() < 0.5:
            overlay.join(*rng.choice(overlay.cuts))
        elif not dead and rng.random() < 0.3:
            self.kill(rng.choice(overlay.tree.brokers))
        elif len(overlay.cuts) < 2:
            overlay.cut(*rng.choice([pair for pair in overlay.pairs if pair not in overlay.cuts]))

    def end(self) -> None:
        """Mends everything, and has every broker publish once more for all who have subscribed."""
        overlay = self.overlay
        overlay.loss = 0.0
        for name in overlay.tree.brokers:
            if name not in overlay.brokers:
                overlay.restart(name)
        for pair in list(overlay.cuts):
            overlay.join(*pair)
        overlay.pass_time(3.0)
        overlay.settle()
        for broker in overlay.tree.brokers:
            for number in NUMBERS:
                self.publish(broker, number)
        overlay.pass_time(3.0)
        overlay.settle()

    def findings(self) -> list[str]:
        """Notifications that break a promise: each client gets, of each broker's publications, all that it wants from
        one of them on, in order and once; to the end, if its subscription stands."""
        found = []
        for made in self.subscribed:
            got = self.overlay.notified[made.client]
            for broker in self.overlay.tree.brokers:
                right = [each for each in self.published[: made.ended] if each.broker == broker]
                ids = [each.id for each in right if each.number in made.wanted]
                had = [id for id in got if id in {each.id for each in self.published if each.broker == broker}]
                first = ids.index(had[0]) if had and had[0] in ids else len(ids)
                if had != ids[first : first + len(had)]:
                    found.append(f"{made.client} got {had} of {ids}")
                elif made.ended is None and (not had or had[-1] != ids[-1]):
                    found.append(f"{made.client} got {had}, and not the last of {ids}")
                elif had and self._missed(made, broker, ids[:first]):
                    found.append(f"{made.client} got nothing of {ids[:first]}, some of it after the announced start")
        return found

    def _missed(self, made: Subscribed, broker: str, missed: list[str]) -> bool:
        """True when some of these publications of a broker were made after the announced start of a subscription."""
        start = self.overlay.starts.get(made.client)
        if start is None or broker not in start.covered:
            return False
        return any(each.id in missed for each in self.published[start.published :])

    def unannounced(self) -> list[str]:
        """Clients whose subscription stands, and has not been announced as started."""
        return [made.client for made in self.standing if made.client not in self.overlay.starts]


def findings(
    seed: int,
    router: Callable[[RouterContext[Any]], GryphonRouter] = GryphonRouter,
    *,
    tree: RoutingTree = LINES,
    faults: float = 0.0,
    loss: float = 0.0,
    steps: int = 800,
    **options: object,
) -> list[str]:
    """The findings on one random run."""
    trial = Trial(RouterOverlay(tree, seed, router, **options))
    trial.overlay.loss = loss
    trial.churn(steps, faults)
    try:
        trial.end()
    except StuckError as error:
        return [str(error)]
    return [*trial.findings(), *(f"{client} was told of no start" for client in trial.unannounced())]
