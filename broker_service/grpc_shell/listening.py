"""Addresses that a broker listens on: `unix:/path` or `host:port`."""

from __future__ import annotations

import os
import socket
import stat
from pathlib import Path

from grpc import aio

UNIX = "unix:"
_LONGEST_SOCKET_PATH = 107
"""Bytes in `sockaddr_un.sun_path`, less the terminating zero."""


class CannotListenError(Exception):
    """An address cannot be listened on; the text is for the user."""


def listen(server: aio.Server, address: str) -> None:
    """Makes a server listen on an address. Raises `CannotListenError`, which names the address."""
    if address.startswith(UNIX):
        _clear_socket(address.removeprefix(UNIX))
    else:
        _check_port(address)
    try:
        server.add_insecure_port(address)
    except RuntimeError as error:
        raise CannotListenError(f"cannot listen on {address}: {error}") from None


def _check_port(address: str) -> None:
    """Binds the port for a moment, because the system's error names the reason and gRPC's does not."""
    host, _, port = address.rpartition(":")
    if not host or not port.isdigit():
        raise CannotListenError(f"cannot listen on {address!r}: write it as host:port or {UNIX}/path")
    try:
        family, kind, _, _, target = socket.getaddrinfo(host.strip("[]"), port, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, kind) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(target)
            probe.listen(1)
    except OSError as error:
        raise CannotListenError(f"cannot listen on {address}: {error.strerror}") from None


def _clear_socket(path: str) -> None:
    """Removes the socket of a predecessor that was killed; one that still answers belongs to another broker."""
    if len(os.fsencode(path)) > _LONGEST_SOCKET_PATH:
        raise CannotListenError(f"cannot listen on {path}: a socket's path has at most {_LONGEST_SOCKET_PATH} bytes")
    if not Path(path).parent.is_dir():
        raise CannotListenError(f"cannot listen on {path}: its directory does not exist")
    try:
        mode = Path(path).stat().st_mode
    except FileNotFoundError:
        return
    if not stat.S_ISSOCK(mode):
        raise CannotListenError(f"cannot listen on {path}: a file of that name exists and is not a socket")
    with socket.socket(socket.AF_UNIX) as probe:
        try:
            probe.connect(path)
        except ConnectionRefusedError:
            Path(path).unlink()
            return
        except OSError as error:
            raise CannotListenError(f"cannot listen on {path}: {error.strerror}") from None
    raise CannotListenError(f"cannot listen on {path}: another broker listens there")
