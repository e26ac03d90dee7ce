"""The section `logs`: the part of what happens that brokers log."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator

from scenario.sections.section import Section
from scenario.sections.units import Share


def _some(share: float) -> float:
    if share <= 0:
        raise ValueError(
            "must be more than 0%, because message counts are estimated from the publications that brokers log; "
            "for small logs write a small share such as 1%"
        )
    return share


class Logs(Section):
    """The part of what happens that brokers log. Clients log everything."""

    publications: Annotated[Share, AfterValidator(_some)] = 1.0
    """Share of publications whose whole lives brokers log, chosen by the seed; counts of messages are estimated from
    them. All brokers log the same publications."""
