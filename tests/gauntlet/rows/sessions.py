"""Defects of client sessions at brokers, and of the client library."""

from __future__ import annotations

from msgspec.structs import replace

from broker_service.client_library.client_requests import ClientRequests
from broker_service.core.actions import ActionExecutor
from broker_service.core.client_sessions import ClientSessions
from broker_service.core.declaring import Declarations
from broker_service.core.session import Session
from broker_service.messages import Operation, Outcome
from broker_service.routing.cbf.router import CbfRouter
from broker_service.routing.interface import RejectedError
from broker_service.routing.tid.router import TidRouter
from emulation.simulation.open_sessions import OpenSessions
from emulation.simulation.sessions import SimulatedSession
from tests.gauntlet import scenarios
from tests.gauntlet.model import Area
from tests.gauntlet.planting import EveryNth, around
from tests.gauntlet.rows import plants
from tests.gauntlet.rows.routers import DUPLICATED, LOST, REORDERED, SPURIOUS

SESSIONS = Area("sessions")
CLIENT_LIBRARY = Area("client library")

_KILLED = scenarios.TID_FIXED.suffering("a crash", {"at": "run+500ms", "kill": "B4", "for": "500ms"}, run="9s")
_BROKE = r"[Ss]ession.*\b(broke|broken|breaks|ended|lost)|\b(broke|broken|ended)\b.*session"
_UNCONFIRMED = r"([Nn]ot|[Nn]ever|without a) confirm|[Uu]nconfirmed"
_REFUSED = r"[Rr]ejected|[Rr]ejection|[Rr]efused"


# Sessions at brokers


@SESSIONS.row(scenarios.TID_FIXED, LOST)
def sessions_drop_every_twentieth_notification() -> None:
    skip = EveryNth(20)
    around(
        Session,
        "put",
        lambda original, self, event: () if event.outcome is Outcome.NOTIFIED and skip() else original(self, event),
    )


@SESSIONS.row(scenarios.CBF, DUPLICATED)
def sessions_take_events_twice() -> None:
    again = EveryNth(15)

    def put(original, self, event):
        if event.outcome is Outcome.NOTIFIED and again():
            original(self, event)
        return original(self, event)

    around(Session, "put", put)


@SESSIONS.row(scenarios.GRYPHON, REORDERED)
def sessions_give_events_in_reverse() -> None:
    held: dict[tuple[int, str], object] = {}

    def put(original, self, event):
        key = id(self), event.id.partition(":")[0]
        if event.outcome is not Outcome.NOTIFIED:
            return original(self, event)
        waiting = held.pop(key, None)
        if waiting is None:
            held[key] = event
            return ()
        return *original(self, event), *original(self, waiting)

    around(Session, "put", put)


@SESSIONS.row(scenarios.TID_FIXED, LOST)
def notifications_reach_the_first_client_of_a_session_only() -> None:
    around(
        ActionExecutor,
        "_deliver",
        lambda original, self, action: original(self, replace(action, clients=action.clients[:1])),
    )


@SESSIONS.row(scenarios.TID_FIXED, LOST)
def brokers_lose_publications_before_the_router() -> None:
    skip = EveryNth(8)

    def publish(original, self, client, request):
        if skip():
            client.session.handled = request.number
            return
        original(self, client, request)

    around(ClientSessions, "publish", publish)


@SESSIONS.row(scenarios.CBF, DUPLICATED)
def brokers_route_publications_twice() -> None:
    again = EveryNth(8)

    def publish(original, self, client, request):
        original(self, client, request)
        if again():
            client.session.progress.last -= 1
            original(self, client, request)

    around(ClientSessions, "publish", publish)


@SESSIONS.row(scenarios.TID_FIXED, _UNCONFIRMED)
def subscriptions_are_never_confirmed() -> None:
    def confirm(original, self, session, request):
        if request.operation is not Operation.SUBSCRIBE:
            original(self, session, request)

    around(ClientSessions, "_confirm", confirm)


@SESSIONS.row(scenarios.TID_FIXED, _UNCONFIRMED)
def subscriptions_are_confirmed_so_late_that_little_is_owed() -> None:
    """Ninety other operations are carried out before, and clients get four fifths of what they should."""
    waiting: list[list[object]] = []

    def confirm(original, self, session, request):
        if request.operation is Operation.SUBSCRIBE:
            waiting.append([0, original, self, session, request])
        else:
            original(self, session, request)

    def carry_out(original, self, asker, request):
        original(self, asker, request)
        for held in waiting.copy():
            held[0] += 1
            if held[0] > 90:
                waiting.remove(held)
                _, confirmed, *arguments = held
                confirmed(*arguments)

    around(ClientSessions, "_confirm", confirm)
    around(ClientSessions, "carry_out", carry_out)
    around(ClientSessions, "publish", carry_out)
    plants.forgets_to_notify(TidRouter)


@SESSIONS.row(scenarios.OCTOPIA, _UNCONFIRMED)
def subscriptions_are_neither_confirmed_nor_made() -> None:
    skip = EveryNth(2)

    def carry_out(original, self, session, request):
        if request.operation is Operation.SUBSCRIBE and skip():
            return
        original(self, session, request)

    around(ClientSessions, "carry_out", carry_out)


@SESSIONS.row(scenarios.TID_FIXED, _UNCONFIRMED)
def advertisements_are_neither_confirmed_nor_made() -> None:
    def carry_out(original, self, session, request):
        if request.operation is Operation.ADVERTISE and request.client == "P2":
            return
        original(self, session, request)

    around(ClientSessions, "carry_out", carry_out)


@SESSIONS.row(scenarios.CBF, LOST + "|" + _REFUSED)
def subscriptions_are_confirmed_and_not_made() -> None:
    skip = EveryNth(3)
    skipped: set[str] = set()

    def subscribe(original, self, client, id, subscription):
        if skip():
            skipped.add(id)
            return ()
        return original(self, client, id, subscription)

    around(CbfRouter, "subscribe", subscribe)
    around(
        CbfRouter,
        "unsubscribe",
        lambda original, self, client, id: () if id in skipped else original(self, client, id),
    )


@SESSIONS.row(scenarios.TID_FIXED, _REFUSED)
def subscriptions_are_rejected_for_no_reason() -> None:
    def declare(original, self, declaring, client, request):
        if declaring is self.subscriptions and client.id in ("S1", "S2", "S3"):
            raise RejectedError("the broker is not in the mood")
        original(self, declaring, client, request)

    around(Declarations, "declare", declare)


@SESSIONS.row(scenarios.TID_FIXED, _REFUSED)
def publications_are_rejected_for_no_reason() -> None:
    skip = EveryNth(4)

    def publish(original, self, client, request):
        if skip():
            client.session.handled = request.number
            raise RejectedError("the broker is not in the mood")
        original(self, client, request)

    around(ClientSessions, "publish", publish)


@SESSIONS.row(scenarios.CBF, SPURIOUS)
def withdrawn_subscriptions_are_confirmed_and_stay() -> None:
    def retract(original, self, declaring, client, request):
        if declaring.noun == "advertisement":
            original(self, declaring, client, request)

    around(Declarations, "retract", retract)


@SESSIONS.row(scenarios.CBF, r"^rejected: .*\S+ rejected unsubscribe a of Ann, though it had confirmed subscribe a")
def withdrawals_are_refused_and_subscriptions_stay() -> None:
    _refuse_withdrawals()


@SESSIONS.row(scenarios.COMPOSITES_WITHDRAWN, r"^rejected: .*B3 rejected unsubscribe d of Dee, though .* compose d")
def withdrawals_are_refused_and_composites_stay() -> None:
    _refuse_withdrawals()


def _refuse_withdrawals() -> None:
    def retract(original, self, declaring, client, request):
        raise RejectedError(f"client {client.id!r} has no {declaring.noun} {request.id!r}")

    around(Declarations, "retract", retract)


@SESSIONS.row(scenarios.TID_FIXED, _BROKE)
def sessions_break_by_themselves() -> None:
    _break_sessions(every=0.5)


@SESSIONS.row(scenarios.GRYPHON, _BROKE)
def sessions_of_gryphon_break_by_themselves() -> None:
    _break_sessions(every=0.5)


def _break_sessions(every: float) -> None:
    """Every session loses its stream again and again, and opens another one."""

    def connect(original, self, broker):
        original(self, broker)
        self._events.background(self._events.now + round(every * 1e9), lambda: again(self, broker))

    def again(self, broker):
        if self._broker is broker and broker.alive:
            session = self._session
            self.lose()
            broker.core.sessions.close(session)
            self.connect(broker)

    around(SimulatedSession, "connect", connect)


# The client library


@CLIENT_LIBRARY.row(scenarios.TID_FIXED, LOST)
def clients_forget_publications() -> None:
    skip = EveryNth(6)

    def take(original, self):
        return [one for one in original(self) if not (one.operation is Operation.PUBLISH and skip())]

    around(ClientRequests, "take", take)


@CLIENT_LIBRARY.row(scenarios.CBF, LOST)
def clients_ignore_notifications() -> None:
    skip = EveryNth(9)

    def receive(original, self, frame):
        heard = [event for event in frame.events if not (event.outcome is Outcome.NOTIFIED and skip())]
        original(self, replace(frame, events=tuple(heard)))

    around(ClientRequests, "receive", receive)


@CLIENT_LIBRARY.row(scenarios.OCTOPIA, DUPLICATED)
def clients_are_told_twice() -> None:
    again = EveryNth(9)

    def receive(original, self, frame):
        told = []
        for event in frame.events:
            told += [event, event] if event.outcome is Outcome.NOTIFIED and again() else [event]
        original(self, replace(frame, events=tuple(told)))

    around(ClientRequests, "receive", receive)


@CLIENT_LIBRARY.row(scenarios.CBF, DUPLICATED)
def clients_send_publications_under_two_numbers() -> None:
    again = EveryNth(9)

    def submit(original, self, client, operation, id="", body=b"", published=0):
        number = original(self, client, operation, id, body, published)
        if operation is Operation.PUBLISH and again():
            original(self, client, operation, id, body, published)
        return number

    around(ClientRequests, "submit", submit)


@CLIENT_LIBRARY.row(_KILLED, r"^not renewed: .*subscribe s1 of S4 did not come to B4 again")
def clients_do_not_subscribe_again() -> None:
    def resubmit(original, self):
        for declared in self._declared.values():
            declared.subscriptions.clear()
        original(self)

    around(ClientRequests, "_resubmit", resubmit)


@CLIENT_LIBRARY.row(_KILLED, LOST + "|" + _REFUSED + "|" + _UNCONFIRMED)
def sessions_never_come_back_after_a_crash() -> None:
    around(OpenSessions, "_connect", lambda original, self, opened: None)


@CLIENT_LIBRARY.row(scenarios.GRYPHON, r"was not announced|^start not announced")
def clients_ignore_announced_starts() -> None:
    around(ClientRequests, "_stands", lambda original, self, client, name: False)


@CLIENT_LIBRARY.row(scenarios.TID_FIXED, REORDERED + "|" + LOST)
def clients_send_publications_in_reverse() -> None:
    held: dict[int, list[object]] = {}

    def take(original, self):
        taken = original(self)
        rest = [one for one in taken if one.operation is not Operation.PUBLISH]
        waiting = held.setdefault(id(self), [])
        waiting += [one for one in taken if one.operation is Operation.PUBLISH]
        if len(waiting) < 6:
            return rest
        reversed_, waiting[:] = list(reversed(waiting)), []
        return [*rest, *reversed_]

    around(ClientRequests, "take", take)
