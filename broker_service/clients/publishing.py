"""Publications of clients on their way to the router: each once, in the order in which a session numbers them.

1. A session numbers its requests. In a session that has a name, a publication whose number is not above the greatest
   handled one is a repeat, which the client sends because its stream broke before the acknowledgement came. It does
   not reach the router again, and is answered again if it was rejected.
2. While the router holds publishers, publications wait in their session, and so does all that the session brings behind
   them (`ClientSessions.handle`).
3. A publication that the router refuses was never accepted; its client gets the reason.
"""

from __future__ import annotations

from collections.abc import Callable

from broker_service.actions import ActionExecutor
from broker_service.errors import RejectedError
from broker_service.language import ContentError, Publication
from broker_service.messages import ClientRequest, Kind, Message, Outcome, answer
from broker_service.routing.interface import Router
from broker_service.routing.matcher import Comparisons
from broker_service.sessions.session import Client
from broker_service.tracing.trace import Recorder


class Publishing:
    """The publications of one broker's clients."""

    def __init__(
        self,
        router: Router,
        actions: ActionExecutor,
        *,
        comparisons: Comparisons,
        recorder: Recorder,
        clock: Callable[[], int],
        stopwatch: Callable[[], int],
    ) -> None:
        self.published = 0
        """Publications that the router has accepted."""
        self._router = router
        self._actions = actions
        self._comparisons = comparisons
        self._recorder = recorder
        self._clock = clock
        self._stopwatch = stopwatch

    def publish(self, client: Client, request: ClientRequest) -> None:
        """Publications are recorded as `Broker.receive` records messages; a rejected one did not reach the router.

        Raises `RejectedError`.
        """
        session, number = client.session, request.number
        progress, session.handled = session.progress, number
        if number <= progress.last and session.name:
            self._answer_again(client, request, progress.rejection(number))
            return
        came = self._clock()
        message = Message(Kind.PUBLISH, request.id, request.body, b"", 0, "", request.published or came)
        try:
            publication, advertisement = _checked(client, request, self._comparisons.decode)
            began = self._stopwatch()
            actions = self._router.publish(client.id, message, publication, advertisement)
        except RejectedError:
            self._comparisons.discard()
            self._recorder.received(message, came, None, None, client.id)
            raise
        took = self._stopwatch() - began - self._comparisons.decoding
        progress.last = max(progress.last, number)
        self.published += 1
        self._recorder.received(message, came, took, None, client.id)
        self._actions.perform(actions)

    def _answer_again(self, client: Client, request: ClientRequest, reason: str | None) -> None:
        if reason is not None:
            self._actions.send(client.session, answer(request, Outcome.REJECTED, reason))


def _checked(client: Client, request: ClientRequest, decode: Callable[[bytes], Publication]) -> tuple[Publication, str]:
    """The content of a publication, and the advertisement that it conforms to. Raises `RejectedError`."""
    try:
        publication = decode(request.body)
    except ContentError as error:
        raise RejectedError(str(error)) from None
    advertisement = client.advertisement_for(publication)
    if advertisement is None:
        raise RejectedError(f"publication {request.id!r} conforms to no advertisement of client {client.id!r}")
    return publication, advertisement
