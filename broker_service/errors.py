"""The errors of a broker, by whose fault they are.

- `MalformedMessageError`: a neighbour sent what cannot be handled. The message is dropped, counted and logged.
- `RejectedError`: a client asked for something that cannot be done. The client gets the reason. A router raises the
  kind of it that is `RefusedPublicationError`.
- `BrokerDefectError`: everything else that handling raises. It is a defect of the broker's own code, nearly always of
  its router, so the broker ends instead of blaming a neighbour or a client.

None of them is a `ValueError`, so a slip in a router is never taken for bad input.
"""

from __future__ import annotations

import traceback

from broker_service.messages import BrokerId

_FRAMES = -12
"""Frames of a defect's stack trace, counted from the innermost."""


class MalformedMessageError(Exception):
    """A neighbour's message that cannot be read, or that no correct neighbour sends; the text says why."""


class NoRoomError(MalformedMessageError):
    """A neighbour's message that a broker has no room for; the text says which bound it exceeds."""


class RejectedError(Exception):
    """A client's operation that cannot be carried out; the text goes to the client."""


class RefusedPublicationError(RejectedError):
    """A publication that a router does not accept; the text goes to the client."""


class BrokerDefectError(Exception):
    """A defect of a broker's own code, nearly always of its router, for which the broker ended.

    The text is a sentence that names the broker, the protocol, and what was handled. The cause (`__cause__`) is the
    original error, where the broker ran in this process.
    """

    def __init__(self, broker: BrokerId, text: str, printed_trace: str = "") -> None:
        """`printed_trace` is the stack trace that a broker in another process has printed."""
        super().__init__(text)
        self.broker = broker
        self._printed_trace = printed_trace

    @property
    def stack_trace(self) -> str:
        """Stack trace of the original error, a line each; empty without one. Only the innermost frames are in it, which
        are the router's."""
        if self.__cause__ is None:
            return self._printed_trace
        return "".join(traceback.format_exception(self.__cause__, limit=_FRAMES))
