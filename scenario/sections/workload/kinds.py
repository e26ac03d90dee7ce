"""The union of all kinds of workload."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, get_args

from pydantic import BeforeValidator, Field

from scenario.sections.workload.file import FileWorkload
from scenario.sections.workload.integers import IntegersWorkload
from scenario.sections.workload.kind import WorkloadKind
from scenario.sections.workload.patterns import PatternsWorkload
from scenario.sections.workload.quotes import QuotesWorkload
from scenario.sections.workload.topics import TopicsWorkload

_USUAL = "quotes"
"""The kind of a workload that names none."""


def _kind_given(data: Any) -> Any:
    return {**data, "kind": _USUAL} if isinstance(data, dict) and data.get("kind") is None else data


AnyKind = QuotesWorkload | IntegersWorkload | TopicsWorkload | PatternsWorkload | FileWorkload
WorkloadSection = Annotated[Annotated[AnyKind, Field(discriminator="kind")], BeforeValidator(_kind_given)]

KINDS: Mapping[str, type[WorkloadKind]] = {
    get_args(model.model_fields["kind"].annotation)[0]: model for model in get_args(AnyKind)
}
"""The section of each kind, by its name."""
