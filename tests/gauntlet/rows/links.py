"""Defects of links between brokers: queues, streams, retransmission. The network below them is faithful."""

from __future__ import annotations

from collections.abc import Callable

from msgspec.structs import replace

from broker_service.core.actions import ActionExecutor
from broker_service.links.overlay_link import OverlayLink
from broker_service.links.retransmission import RetransmissionQueue
from broker_service.messages import Kind
from emulation.simulation.overlay_link import SimulatedLink
from tests.gauntlet import scenarios
from tests.gauntlet.model import Area
from tests.gauntlet.planting import EveryNth, around
from tests.gauntlet.rows.routers import DUPLICATED, LOST, REORDERED

AREA = Area("links")

_CUT = scenarios.TID_LINE.suffering("a cut in the middle", {"at": "run+1s", "link_down": "B3-B4", "for": "4s"})
_RESET = scenarios.TID_LINE.but(
    "tid, a line, slow links", {"topology.link": {"delay": "100ms"}, "timeline.run": "7s"}
).suffering("resets", {"at": "run+1s", "reset": "B3-B4"}, {"at": "run+2s", "reset": "B2-B3"})


def _is_publication(message) -> bool:
    return message.kind is Kind.PUBLISH


@AREA.row(scenarios.TID_FIXED, LOST)
def queues_forget_every_tenth_publication() -> None:
    skip = EveryNth(10)
    around(
        OverlayLink,
        "put",
        lambda original, self, message: None if _is_publication(message) and skip() else original(self, message),
    )


@AREA.row(scenarios.CBF, DUPLICATED)
def queues_take_every_tenth_publication_twice() -> None:
    again = EveryNth(10)

    def put(original, self, message):
        original(self, message)
        if _is_publication(message) and again():
            original(self, message)

    around(OverlayLink, "put", put)


@AREA.row(scenarios.TID_FIXED, REORDERED)
def queues_put_later_publications_first() -> None:
    """Every publication of a publisher waits for its next one at a link, and comes after it."""
    held: dict[tuple[int, str], object] = {}

    def put(original, self, message):
        key = id(self), message.id.partition(":")[0]
        if not _is_publication(message):
            original(self, message)
        elif (waiting := held.pop(key, None)) is None:
            held[key] = message
        else:
            original(self, message)
            original(self, waiting)

    around(OverlayLink, "put", put)


@AREA.row(scenarios.MEDYM_CLOSE, LOST)
def links_forget_control_messages() -> None:
    skip = EveryNth(4)
    around(
        OverlayLink,
        "put",
        lambda original, self, message: None if message.kind is Kind.CONTROL and skip() else original(self, message),
    )


@AREA.row(scenarios.TID_FIXED, LOST)
def links_forget_subscriptions() -> None:
    skip = EveryNth(3)
    around(
        OverlayLink,
        "put",
        lambda original, self, message: None if message.kind is Kind.SUBSCRIBE and skip() else original(self, message),
    )


@AREA.row(scenarios.TID_FIXED, LOST)
def brokers_drop_every_fourth_publication_that_comes_in() -> None:
    def receive(original, self, neighbour, messages, *rest):
        kept = [one for one in messages if not (_is_publication(one) and int(one.id.rpartition(":")[2]) % 4 == 0)]
        self._links[neighbour].received += len(messages) - len(kept)
        original(self, neighbour, kept, *rest)

    around(ActionExecutor, "receive", receive)


@AREA.row(_CUT, LOST)
def what_waited_during_a_cut_is_forgotten() -> None:
    def connect(original, self, incarnation, handled):
        if self.neighbour_incarnation:
            self._waiting.clear()
            self._publication_bytes = 0
        original(self, incarnation, handled)

    around(OverlayLink, "connect", connect)


@AREA.row(_RESET, LOST)
def what_was_in_flight_at_a_reset_is_not_repeated() -> None:
    def resume(original, self, handled):
        original(self, handled)
        self.repeats.clear()

    around(RetransmissionQueue, "resume", resume)


@AREA.row(_RESET, DUPLICATED)
def what_was_handled_before_a_reset_travels_again() -> None:
    latest: dict[int, list[object]] = {}

    def put(original, self, message):
        original(self, message)
        if _is_publication(message):
            latest[id(self)] = [*latest.get(id(self), [])[-4:], message]

    def connect(original, self, incarnation, handled):
        original(self, incarnation, handled)
        for message in latest.pop(id(self), ()):
            self.put(message)

    around(OverlayLink, "connect", connect)
    around(OverlayLink, "put", put)


@AREA.row(scenarios.TID_LINE, r"^lost: P\d:\d+ for S[456]: .* last (arrived at B3|sent from B3 to B4) ")
def a_link_goes_down_for_good_without_a_fault() -> None:
    """Nothing is lost for ever, because all waits: the last place on the way must be named. The tenth publication that
    B3 queues for it finds the link as it was, and the next ones do not."""
    links: list[SimulatedLink] = []
    tenth = EveryNth(10)
    _watched(links.append)

    def put(original, self, message):
        if _is_publication(message) and links and self.neighbour == "B4" and tenth():
            links.pop().cut("B3")
        original(self, message)

    around(OverlayLink, "put", put)


@AREA.row(scenarios.TID_LINE, r"^lost: P2:\d+ for S[456]: .* last arrived at B2 ")
def a_link_goes_down_before_subscriptions_pass_it() -> None:
    """The broker of the publisher does not know them, and sends publications elsewhere."""
    _watched(lambda link: link._events.after(4.0, lambda: link.cut("B3")))


def _watched(found: Callable[[SimulatedLink], None]) -> None:
    """Calls a function with the link between B3 and B4 whenever a stream is opened there."""

    def opened(original, self, stream):
        original(self, stream)
        if {self.a, self.b} == {"B3", "B4"}:
            found(self)

    around(SimulatedLink, "_opened", opened)


@AREA.row(scenarios.CBF, LOST)
def messages_change_their_content_on_the_way() -> None:
    """The class in a publication's content is damaged, so that subscriptions behind the first link do not match."""

    def take(original, self, most=None):
        return [
            replace(one, body=one.body.replace(b"STOCK", b"STACK")) if _is_publication(one) else one
            for one in original(self, most)
        ]

    around(OverlayLink, "take", take)
