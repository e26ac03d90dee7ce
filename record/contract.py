"""The contract between a broker that is not brokerlab's and whoever starts it (docs/broker-contract.md)."""

from __future__ import annotations

from typing import Final

import msgspec

CONTRACT: Final = 1
"""Version of the contract."""
ADAPTER_LEVEL: Final = 0
"""The level of a deployed system behind an adapter."""
STATUS_LEVEL: Final = 2
"""The level from which on brokers answer to their control service."""
LOGS_LEVEL: Final = 3
"""The level from which on brokers log."""

CANARY: Final = "brokerlab canary"
"""The class of canaries (R-6), and the beginning of the names of their clients."""

NOT_WANTED: Final = "no client here wants it"
CAME_AGAIN: Final = "it had come before"
"""Reasons for which the adapter of a deployed system drops publications."""

UNKNOWN_WORK: Final = "it is not known what the work of brokers that are not brokerlab's takes at rest"
"""The reason why delays of such brokers have no budget, so that contention cannot be told from work."""
_NO_LOGS = "keep no logs"


class ForeignBrokers(msgspec.Struct, frozen=True, kw_only=True):
    """The brokers of a variant that are not brokerlab's."""

    contract: int
    """Version of the contract."""
    level: int
    """The level of the contract that they keep, as the scenario claims."""
    system: str | msgspec.UnsetType = msgspec.UNSET
    """The deployed system whose servers they are, behind an adapter. Not set for any other brokers."""
    among_native: list[str] | msgspec.UnsetType = msgspec.UNSET
    """Names of these brokers, if other brokers of the overlay are brokerlab's; not set otherwise."""

    @property
    def answers(self) -> bool:
        """True for brokers that tell their state when they are asked."""
        return self.level >= STATUS_LEVEL

    @property
    def logs(self) -> bool:
        """True for brokers that log what happens to messages."""
        return self.level >= LOGS_LEVEL

    @property
    def reason(self) -> str:
        """The reason why something of them cannot be known that their log would tell."""
        who = f"brokers of level {self.level}" if self.system is msgspec.UNSET else f"servers of {self.system}"
        return f"{who} {_NO_LOGS}"


def is_of_foreign_brokers(reason: str) -> bool:
    """True for a reason why something of brokers that are not brokerlab's is not known."""
    return reason.endswith((_NO_LOGS, UNKNOWN_WORK))
