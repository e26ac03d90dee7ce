"""The section `logs`: the part of what happens that brokers log."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator

from scenario.sections.section import Section
from scenario.sections.units import SIZE, Share, Size


def _some(share: float) -> float:
    if share <= 0:
        raise ValueError(
            "must be more than 0%, because message counts are estimated from the publications that brokers log; "
            "for small logs write a small share such as 1%"
        )
    return share


def _holds_a_log(size: int | None) -> int | None:
    if size is not None and size < _LEAST_QUOTA:
        raise ValueError(f"must be at least {SIZE.format(_LEAST_QUOTA)}, because a short run's log has as much")
    return size


_LEAST_QUOTA = 1_000_000


class Logs(Section):
    """The part of what happens that brokers log. Clients log everything."""

    publications: Annotated[Share, AfterValidator(_some)] = 1.0
    """Share of the publications of which brokers log every step, chosen by the seed and the same at all brokers. Counts
    of messages are estimated from them."""

    quota: Annotated[Size | None, AfterValidator(_holds_a_log)] = None
    """Bytes that the log of one broker may have; 4 GiB without it. A broker that reaches it can log no more, and the
    run is INVALID."""
