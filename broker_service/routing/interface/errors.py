"""The errors of a broker, by whose fault they are.

- `MalformedMessageError`: a neighbour sent what cannot be handled. The message is dropped, counted and logged.
- `RejectedError`: a client asked for something that cannot be done. The client gets the reason. A router raises the
  kind of it that is `RefusedPublicationError`.
- `record.errors.BrokerDefectError`: everything else that handling raises. It is a defect of the broker's own code,
  nearly always of its router, so the broker ends instead of blaming a neighbour or a client.

None of them is a `ValueError`, so a slip in a router is never taken for bad input.
"""

from __future__ import annotations


class MalformedMessageError(Exception):
    """A neighbour's message that cannot be read, or that no correct neighbour sends; the text says why."""


class NoRoomError(MalformedMessageError):
    """A neighbour's message that a broker has no room for; the text says which bound it exceeds."""


class RejectedError(Exception):
    """A client's operation that cannot be carried out; the text goes to the client."""


class RefusedPublicationError(RejectedError):
    """A publication that a router does not accept; the text goes to the client."""
