"""Runs playbooks on other hosts."""

from emulation.ansible.runner import (
    Inventory,
    PlayCancelledError,
    Played,
    PlayError,
    TaskFailure,
    TaskResult,
    local_inventory,
    play,
    read_inventory,
)

__all__ = [
    "Inventory",
    "PlayCancelledError",
    "PlayError",
    "Played",
    "TaskFailure",
    "TaskResult",
    "local_inventory",
    "play",
    "read_inventory",
]
