"""Bounds on the amounts that a generated workload makes on its overlay."""

from __future__ import annotations

from collections.abc import Iterator

from broker_service.language import Value
from scenario.model import Scenario
from scenario.sections.messages import Problem
from scenario.sections.workload.kind import MOST_PUBLICATIONS, MOST_SUBSCRIPTIONS
from scenario.workload.padding import encoded_size
from scenario.yaml_files.fields import FieldPath
from topology import Range


def publication_problems(publishers: int, rate: Range, scenario: Scenario) -> Iterator[Problem]:
    """A problem when so many publishers make too many publications at this rate each."""
    seconds = scenario.timeline.run
    made = round(publishers * rate.high * seconds)
    if made > MOST_PUBLICATIONS:
        message = f"makes up to {made:,} publications in a run of {seconds:g} s; there may be {MOST_PUBLICATIONS:,}"
        yield Problem(("workload", "publications", "rate"), message)


def subscription_problems(path: FieldPath, made: float) -> Iterator[Problem]:
    """A problem of the field at `path` when it makes too many subscriptions."""
    if made > MOST_SUBSCRIPTIONS:
        yield Problem(path, f"makes about {made:,.0f} subscriptions; there may be {MOST_SUBSCRIPTIONS:,}")


def size_problems(size: int | None, largest: dict[str, Value]) -> Iterator[Problem]:
    """A problem when publications cannot be padded to a size, because this content is larger without padding."""
    if size is not None and (least := encoded_size(largest)) > size:
        message = f"is less than the {least} bytes of a publication without padding; give more, or leave it out"
        yield Problem(("workload", "publications", "size"), message)
