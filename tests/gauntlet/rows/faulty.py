"""Defects during faults that excuse none of it, because what is lost never needed what failed."""

from __future__ import annotations

from broker_service.links.overlay_link import OverlayLink
from broker_service.messages import Kind
from broker_service.routing.cbf.router import CbfRouter
from broker_service.routing.common.reconciliation import Reconciliation
from broker_service.routing.interface import Send
from broker_service.routing.medym.announcements.relay import Announcing
from broker_service.routing.medym.router import MedymRouter
from broker_service.routing.octopia.router import OctopiaRouter
from broker_service.routing.semi_probabilistic.router import SemiProbabilisticRouter
from broker_service.routing.tid.reconciliation import Binding, KnownIncarnations
from broker_service.routing.tid.router import TidRouter
from tests.gauntlet import scenarios
from tests.gauntlet.model import Area
from tests.gauntlet.planting import EveryNth, around
from tests.gauntlet.rows import plants
from tests.gauntlet.rows.routers import LOST, SPURIOUS

AREA = Area("routers during faults")

_LEAF = scenarios.TID_LINE.but(
    "a line of eight",
    {
        "topology.brokers": 8,
        "workload.publications.placement": ["B1"],
        "workload.subscriptions.placement": ["B2", "B3"],
    },
).suffering("its far leaf dies", {"at": "run+1s", "kill": "B8"}, run="7s")
_SMOKE = scenarios.TID_FIXED.suffering("a crash of 1 s", {"at": "run+2s", "kill": "B5", "for": "1s"}, run="16s")


def _loses_at(router, broker: str, every: int) -> None:
    """A broker drops every n-th publication that comes from a neighbour or a client."""
    skip = EveryNth(every)

    def receive(original, self, neighbour, message):
        wrong = self._context.broker == broker and message.kind is Kind.PUBLISH and skip()
        return [] if wrong else original(self, neighbour, message)

    around(router, "receive", receive)


@AREA.row(_LEAF, LOST)
def a_broker_drops_every_second_publication_while_a_far_leaf_is_dead() -> None:
    _loses_at(TidRouter, "B2", 2)


@AREA.row(_LEAF, SPURIOUS)
def a_broker_notifies_everybody_while_a_far_leaf_is_dead() -> None:
    plants.notifies_everybody(TidRouter)


@AREA.row(_SMOKE, LOST)
def publications_are_lost_all_the_time_round_a_short_crash() -> None:
    plants.loses(TidRouter)


@AREA.row(_SMOKE, LOST)
def publications_are_lost_only_round_a_short_crash() -> None:
    """From 1.5 s before the crash to 10 s after it, a third of what a broker's own clients publish is thrown away."""

    def publish(original, self, client, message, publication, advertisement):
        wrong = 3.5 < self._context.now() < 14 and plants.drawn(message.id, 1 / 3)
        return [] if wrong else original(self, client, message, publication, advertisement)

    around(TidRouter, "publish", publish)


for _base, _router, _fault in (
    (scenarios.TID_FIXED, TidRouter, {"at": "run+1s", "pause": "B6", "for": "1s"}),
    (scenarios.TID_DYNAMIC, TidRouter, {"at": "run+1s", "slow": "B6", "service_time": "1ms", "for": "2s"}),
    (scenarios.OCTOPIA, OctopiaRouter, {"at": "run+1s", "link_down": "a0-a1", "for": "1s"}),
    (scenarios.MEDYM_CLOSE, MedymRouter, {"at": "run+1s", "link_down": "B5-B6", "for": "1s"}),
    (
        scenarios.MEDYM_SOURCE.but("medym, source, joined for longer", {"timeline.join": "4s"}),
        MedymRouter,
        {"at": "run+1s", "kill": "B6", "for": "500ms"},
    ),
    (scenarios.CBF, CbfRouter, {"at": "run+1s", "reset": "random-link"}),
    (scenarios.CBF_COVERING, CbfRouter, {"at": "run+1s", "kill": "B6", "for": "500ms"}),
):
    _verb = next(key for key in _fault if key not in ("at", "for"))
    _during = _base.suffering(f"{_verb} elsewhere", _fault, run="9s")
    AREA.add(f"{_during.name}: loses a third", _during, lambda r=_router: plants.loses(r), LOST)
    AREA.add(f"{_during.name}: forgets to notify", _during, lambda r=_router: plants.forgets_to_notify(r), LOST)


@AREA.row(scenarios.TID_LINE.suffering("a late crash", {"at": "run+6s", "kill": "B4"}, run="7s"), LOST)
def a_broker_keeps_every_fourth_publication_until_it_crashes() -> None:
    """They wait in a queue whose link is up all the time, as the broker's own gauges say."""
    kept: dict[int, list[object]] = {}
    keep = EveryNth(4)

    def put(original, self, message):
        if message.kind is Kind.PUBLISH and self.neighbour == "B5" and keep():
            kept.setdefault(id(self), []).append(message)
        else:
            original(self, message)

    around(OverlayLink, "put", put)
    around(OverlayLink, "queue_length", lambda original, self: original(self) + len(kept.get(id(self), ())))
    around(OverlayLink, "idle", lambda original, self: original(self) and id(self) not in kept)


@AREA.row(scenarios.TID_LINE.suffering("a crash at six", {"at": "run+6s", "kill": "B4"}, run="7s"), LOST)
def a_broker_loses_every_other_publication_shortly_before_it_crashes() -> None:
    """In the time of which a killed broker writes no gauges."""

    def put(original, self, message):
        number = int(message.id.rpartition(":")[2]) if message.kind is Kind.PUBLISH else 0
        if not (self.neighbour == "B5" and number in range(47, 60, 2)):
            original(self, message)

    around(OverlayLink, "put", put)


@AREA.row(scenarios.TID_FIXED.suffering("a crash", {"at": "run+500ms", "kill": "hub", "for": "500ms"}, run="14s"), LOST)
def restarted_neighbours_are_told_nothing() -> None:
    around(
        TidRouter,
        "link_up",
        _first_only,
    )


_WITHDRAWN_MEANWHILE = (
    scenarios.TID_LINE.doing(
        "a withdrawal behind a crash",
        {"at": "1s", "client": "Dee", "broker": "B6", "id": "d", "subscribe": "[class,eq,'STOCK'],[close,>,1]"},
        {"at": "4s", "client": "Dee", "broker": "B6", "unsubscribe": "d"},
    )
    .suffering("a crash", {"at": "run+500ms", "kill": "B4", "for": "2s"}, run="9s")
    .but("tid, a withdrawal behind a crash", {"timeline.withdraw": "20s"})
)


@AREA.row(_WITHDRAWN_MEANWHILE, r"state left|B\d.*keeps")
def tid_keeps_what_a_restarted_neighbour_did_not_confirm() -> None:
    around(Reconciliation, "take_overdue", lambda original, self, neighbour: (original(self, neighbour), ())[1])


@AREA.row(_WITHDRAWN_MEANWHILE, r"^B2, after all clients had left")
def tid_keeps_two_hops_from_a_restarted_broker_what_a_neighbour_of_it_gave_up() -> None:
    """B3 gives up what B4 does not confirm, and tells B2, which keeps it."""
    given_up: set[str] = set()

    def take_overdue(original, self, neighbour):
        overdue = original(self, neighbour)
        given_up.update(item.subscription for item in overdue if isinstance(item, Binding))
        return overdue

    def receive(original, self, neighbour, message):
        is_kept = self._context.broker == "B2" and neighbour == "B3" and message.id in given_up
        return [] if is_kept else original(self, neighbour, message)

    around(Reconciliation, "take_overdue", take_overdue)
    around(TidRouter, "_receive_unsubscription", receive)


def _first_only(original, self, neighbour, incarnation):
    return original(self, neighbour, incarnation) if incarnation == 1 else []


@AREA.row(scenarios.CBF.suffering("a crash", {"at": "run+500ms", "kill": "hub", "for": "500ms"}, run="14s"), LOST)
def cbf_tells_restarted_neighbours_no_sums() -> None:
    around(CbfRouter, "_update_restarted", lambda original, self, neighbour: [])


@AREA.row(scenarios.MEDYM_CLOSE.suffering("a crash", {"at": "run+500ms", "kill": "B2", "for": "500ms"}, run="9s"), LOST)
def medym_sends_restarted_servers_nothing() -> None:
    around(Announcing, "send_lacking", lambda original, self, neighbour, received: [])


@AREA.row(
    scenarios.MEDYM_CLOSE.suffering("a cut", {"at": "run+500ms", "link_down": "links-of(B1)", "for": "5s"}, run="9s"),
    LOST,
)
def medym_forgets_what_it_took_back() -> None:
    around(MedymRouter, "returned", lambda original, self, neighbour, messages: [])


@AREA.row(_SMOKE, LOST)
def every_incarnation_is_taken_for_a_former_one() -> None:
    around(KnownIncarnations, "is_former", lambda original, self, home: home.incarnation > 1 or original(self, home))


_CUT_WHILE_FLOODING = scenarios.SEMI_FLOOD.suffering(
    "a cut", {"at": "run+1s", "link_down": "B1-B2", "for": "4s"}, run="9s"
)


@AREA.row(_CUT_WHILE_FLOODING, LOST)
def a_flooding_broker_without_one_link_uses_none() -> None:
    """The others are up, and the overlay has ways round the cut."""

    def candidates(original, self, source):
        found, fanout = original(self, source)
        missing = self._context.broker in ("B1", "B2") and len(self._table.neighbours) < 3
        return ([], 0) if missing else (found, fanout)

    around(SemiProbabilisticRouter, "_candidates_from", candidates)


@AREA.row(scenarios.TID_LINE.suffering("a cut", {"at": "run+1s", "link_down": "B5-B6", "for": "4s"}, run="12s"), LOST)
def publications_to_links_that_were_cut_once_are_dropped() -> None:
    cut: set[tuple[int, str]] = set()

    def link_down(original, self, neighbour):
        cut.add((id(self), neighbour))
        return original(self, neighbour)

    def change(router, actions):
        return [one for one in actions if not (isinstance(one, Send) and (id(router), one.neighbour) in cut)]

    around(TidRouter, "link_down", link_down)
    plants.changes_publications(TidRouter, change)
