"""The errors of a broker, by whose fault they are.

- `MalformedMessageError`: a neighbour sent what cannot be handled. The message is dropped, counted and logged.
- `RejectedError`: a client asked for something that cannot be done. The client gets the reason.
- `BrokerDefectError`: everything else that handling raises. It is a defect of the broker's own code, nearly always of
  its router, so the broker ends instead of blaming a neighbour or a client.

None of them is a `ValueError`, so a slip in a router is never taken for bad input.
"""

from __future__ import annotations

from broker_service.messages import BrokerId


class MalformedMessageError(Exception):
    """A neighbour's message that cannot be read, or that no correct neighbour sends; the text says why."""


class RejectedError(Exception):
    """A client's operation that cannot be carried out; the text goes to the client."""


class BrokerDefectError(Exception):
    """A defect of the broker's own code, nearly always of its router. The original error is the cause (`__cause__`)."""

    def __init__(self, broker: BrokerId, protocol: str, occasion: str, cause: Exception) -> None:
        """`occasion` names what was handled: the kind, the id and the sender of a message, for example."""
        super().__init__(
            f"broker defect: {broker} (protocol {protocol}) failed on {occasion}: {type(cause).__name__}: {cause}"
        )
        self.broker = broker
        self.__cause__ = cause
