"""The router of a broker that notices late which links have come or gone (`late_notice` has the rules)."""

from __future__ import annotations

from broker_service.language import Publication, Subscription
from broker_service.messages import BrokerId, ClientId, Message
from broker_service.routing.interface import Action, Actions, RouterContext, TimerKey
from broker_service.routing.semi_probabilistic.late_notice import LateNotice
from broker_service.routing.semi_probabilistic.options import SemiProbabilisticOptions
from broker_service.routing.semi_probabilistic.router import SemiProbabilisticRouter


class LateRouter(SemiProbabilisticRouter):
    """A router that learns of its links from a `LateNotice`, through which all that it sends goes."""

    def __init__(self, context: RouterContext[SemiProbabilisticOptions]) -> None:
        super().__init__(context)
        after = context.options.noticed_after
        self._notice = LateNotice(after, self._table.neighbours, context.links, context.report_dropped)
        self._linked = self._notice

    def subscribe(self, client: ClientId, id: str, subscription: Subscription) -> Actions:
        return self._notice.reaching(super().subscribe(client, id, subscription))

    def unsubscribe(self, client: ClientId, id: str) -> Actions:
        return self._notice.reaching(super().unsubscribe(client, id))

    def publish(self, client: ClientId, message: Message, publication: Publication, advertisement: str) -> Actions:
        return self._notice.reaching(super().publish(client, message, publication, advertisement))

    def receive(self, neighbour: BrokerId, message: Message) -> Actions:
        """Handles a message, by which its link is noticed if it was not yet."""
        actions = self._notice.reaching(super().receive(neighbour, message))
        return [*actions, *self.link_up(neighbour, 0)] if self._notice.heard(neighbour) else actions

    def link_up(self, neighbour: BrokerId, incarnation: int) -> Actions:
        if (later := self._notice.came(neighbour)) is not None:
            return later
        former: list[Action] = self._parted(neighbour) if neighbour in self._table.neighbours else []
        return self._notice.reaching([*former, *super().link_up(neighbour, incarnation)])

    def link_down(self, neighbour: BrokerId) -> Actions:
        if (later := self._notice.went(neighbour)) is not None:
            return later
        return self._notice.reaching(super().link_down(neighbour))

    def timer(self, key: TimerKey) -> Actions:
        if (noticed := self._notice.ran_out(key)) is None:
            return ()
        neighbour, came = noticed
        return self.link_up(neighbour, 0) if came else self.link_down(neighbour)


def semi_probabilistic_router(context: RouterContext[SemiProbabilisticOptions]) -> SemiProbabilisticRouter:
    """The router that a broker's options ask for."""
    return LateRouter(context) if context.options.noticed_after else SemiProbabilisticRouter(context)
