"""The load of a server: publications sent to neighbours for each one received (BalancedMST, section 4.1)."""

from __future__ import annotations


class Load:
    """Counts since the server's start. What a client of this server publishes counts as received."""

    def __init__(self, threshold: float) -> None:
        """`threshold` is OT: above this ratio of sent to received publications, a server is overloaded."""
        self.sent = 0
        self.received = 0
        self.overloaded = False
        """True when the server was overloaded at the last look."""
        self._threshold = threshold

    def has_changed(self) -> bool:
        """Looks at the counts. True when the server has become overloaded since the last look, or is so no more.

        A server that has received nothing is not overloaded.
        """
        former = self.overloaded
        self.overloaded = self.sent > self._threshold * self.received
        return self.overloaded != former
