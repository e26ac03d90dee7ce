"""The end of a client's session at its site: in the site's network namespace, with the broker that the site is at."""

from __future__ import annotations

import socket

import msgspec

from emulation.network.namespaces import in_namespace


class SiteEnd(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The end of a client's session at its site."""

    broker: str
    address: str
    """Address of the broker over the site's access link."""
    namespace: int
    """A process in the site's network namespace."""
    reads: float | None = None
    """Notifications that the client reads in a second; None: whatever comes."""

    def socket(self) -> socket.socket:
        """A socket that is made inside the site. Raises `NetworkError`."""
        return in_namespace(self.namespace, lambda: socket.socket(socket.AF_INET, socket.SOCK_STREAM))
