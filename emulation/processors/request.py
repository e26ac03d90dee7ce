"""The request to the sampler: which run it samples, which process is which node, and where it writes."""

from __future__ import annotations

import msgspec


class SamplingRequest(msgspec.Struct, frozen=True, kw_only=True):
    """One variant's sampling; it is the only argument of the process, as JSON."""

    mark: str
    """`NAME=VALUE`, which every process of the run has in its environment."""
    variant: str
    file: str
    """Path of the file to whose end lines are added."""
    brokers: dict[int, str]
    """Brokers by the number of their network namespace."""
    broker_program: str
    acting_programs: tuple[str, ...]
    """Programs that act for clients, whose commands have their configuration's path as the last argument."""
    relay_program: str
    """Arguments that commands of these programs have."""
