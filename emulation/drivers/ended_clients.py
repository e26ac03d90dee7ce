"""Clients that do not run, or are frozen, because a fault has struck them or their site."""

from __future__ import annotations

from topology.sites import ClientHost


class EndedClients:
    """The clients that have ended. A client that ended by itself and with its site runs again when both are back."""

    def __init__(self) -> None:
        self._hosts: dict[str, set[str]] = {}
        """The hosts with which each client has ended, by name."""

    def __contains__(self, client: str) -> bool:
        return bool(self._hosts.get(client))

    def end(self, host: ClientHost) -> list[str]:
        """Notes that a host has ended. Returns those of its clients that ran until now."""
        ran = [client for client in host.clients if client not in self]
        for client in host.clients:
            self._hosts.setdefault(client, set()).add(host.name)
        return ran

    def come_back(self, host: ClientHost) -> list[str]:
        """Notes that a host is back. Returns those of its clients that run from now on."""
        ended = [client for client in host.clients if host.name in self._hosts.get(client, ())]
        for client in ended:
            self._hosts[client].discard(host.name)
        return [client for client in ended if client not in self]
