"""Addresses on which processes of this host or of its containers listen."""

from __future__ import annotations

from pathlib import Path

LOOPBACK = "0100007F"
"""End of a loopback address in the hexadecimal form of /proc/net/tcp, for IPv4 and for IPv4 mapped into IPv6."""


def listening_addresses(pid: int | str) -> set[str]:
    """Local addresses of a process's listening TCP sockets, in hexadecimal."""
    inodes = set()
    for descriptor in Path(f"/proc/{pid}/fd").iterdir():
        try:
            inodes.add(str(descriptor.readlink()))
        except FileNotFoundError:
            continue  # closed meanwhile
    found = set()
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/{pid}/net/{table}").read_text().splitlines()[1:]:
            columns = line.split()
            if columns[3] == "0A" and f"socket:[{columns[9]}]" in inodes:
                found.add(columns[1].split(":")[0])
    return found
