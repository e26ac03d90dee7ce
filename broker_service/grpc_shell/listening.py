"""Addresses that a broker listens on: `unix:/path` or `host:port`."""

from __future__ import annotations

import os
import socket
import stat
from pathlib import Path
from typing import Any

from broker_service.transport.methods import UNIX

_BACKLOG = 128
"""Connections that may wait to be accepted."""
_LONGEST_SOCKET_PATH = 107
"""Bytes in `sockaddr_un.sun_path`, less the terminating zero."""


class CannotListenError(Exception):
    """An address cannot be listened on; the text is for the user."""


def bind(address: str) -> socket.socket:
    """A socket that is bound to an address and accepts connections. Raises `CannotListenError`, which names it."""
    if address.startswith(UNIX):
        path = address.removeprefix(UNIX)
        _clear_socket(path)
        family, target = socket.AF_UNIX, path
    else:
        family, target = _resolve(address)
    listening = socket.socket(family, socket.SOCK_STREAM)
    try:
        if family != socket.AF_UNIX:
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(target)
        listening.listen(_BACKLOG)
    except OSError as error:
        listening.close()
        raise CannotListenError(f"cannot listen on {address}: {error.strerror}") from None
    return listening


def _resolve(address: str) -> tuple[socket.AddressFamily, Any]:
    host, _, port = address.rpartition(":")
    if not host or not port.isdigit():
        raise CannotListenError(f"cannot listen on {address!r}: write it as host:port or {UNIX}/path")
    try:
        family, _, _, _, target = socket.getaddrinfo(host.strip("[]"), port, type=socket.SOCK_STREAM)[0]
    except OSError as error:
        raise CannotListenError(f"cannot listen on {address}: {error.strerror}") from None
    return family, target


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
