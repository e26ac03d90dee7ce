"""Bounds on the amounts that a generated workload makes on its overlay."""

from __future__ import annotations

from collections.abc import Iterator

from broker_service.language import Value
from scenario.model import Scenario
from scenario.sections.messages import Problem
from scenario.sections.workload.kind import MOST_PUBLICATIONS, MOST_SUBSCRIPTIONS
from scenario.workload.pace import load_time
from scenario.workload.padding import encoded_size
from scenario.yaml_files.fields import FieldPath
from topology.links import Range

_REST_OF_MESSAGE = 4096
"""Bytes of a message beside its content at most: names, header and frame."""


def publication_problems(publishers: int, rate: Range, scenario: Scenario) -> Iterator[Problem]:
    """A problem when this number of publishers, each at this rate, makes too many publications."""
    seconds = scenario.timeline.run
    made = round(publishers * rate.high * load_time(scenario))
    if made > MOST_PUBLICATIONS:
        message = f"makes up to {made:,} publications in a run of {seconds:g} s; there may be {MOST_PUBLICATIONS:,}"
        yield Problem(("workload", "publications", "rate"), message)


def subscription_problems(path: FieldPath, made: float) -> Iterator[Problem]:
    """A problem of the field at `path` when it makes too many subscriptions."""
    if made > MOST_SUBSCRIPTIONS:
        yield Problem(path, f"makes about {made:,.0f} subscriptions; there may be {MOST_SUBSCRIPTIONS:,}")


def size_problems(size: int | None, largest: dict[str, Value], scenario: Scenario) -> Iterator[Problem]:
    """A problem when publications of a size cannot be made or sent.

    They cannot be made when this content is larger without padding. They cannot be sent when they exceed a message or
    a queue of the brokers, which would drop every one of them.
    """
    if size is None:
        return
    path: FieldPath = ("workload", "publications", "size")
    limits = scenario.brokers.limits
    most = min(limits.message_bytes, limits.queue_bytes) - _REST_OF_MESSAGE
    if (least := encoded_size(largest)) > size:
        message = f"is less than the {least} bytes of a publication without padding; give more, or leave it out"
        yield Problem(path, message)
    elif size > most:
        name = "message_bytes" if limits.message_bytes <= limits.queue_bytes else "queue_bytes"
        message = f"{size:,} bytes; brokers.limits.{name} leaves {max(most, 0):,} for content; ask for less"
        yield Problem(path, message)
