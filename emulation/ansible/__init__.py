"""Work on other hosts: playbooks, and the one way in which they are run."""

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
