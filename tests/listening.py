"""Where processes of this host, or of its containers, listen."""

from __future__ import annotations

from pathlib import Path

LOOPBACK = "0100007F"
"""What an address ends with, in hexadecimal as in /proc/net/tcp, whether it is of IPv4 or mapped into IPv6."""


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
