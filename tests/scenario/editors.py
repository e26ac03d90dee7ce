"""The schemas that editors get, held against what the loader accepts."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from typing import Any

from jsonschema import Draft202012Validator
from pydantic import ValidationError
from pydantic_core import ErrorDetails

from scenario.json_schema import schema_of
from scenario.model import Scenario

_OF_VALIDATORS = frozenset({"value_error", "assertion_error"})
"""Errors of validators that look at several fields, or at what a text means."""
_OF_AMOUNTS = frozenset({"greater_than", "greater_than_equal", "less_than", "less_than_equal"})
"""Errors of bounds, which a schema does not apply to amounts with a unit."""
_OPTIONS = "$.routing"
"""Place of the options of protocols, which the model leaves to `scenario.checks`."""


@cache
def validator() -> Draft202012Validator:
    return Draft202012Validator(schema_of(Scenario, "a scenario"))


def refusals(content: Any) -> list[str]:
    """Mistakes that the schema finds, by place."""
    as_in_a_file = json.loads(json.dumps(content))  # tests give tuples for lists
    return [f"{error.json_path}: {error.message[:200]}" for error in validator().iter_errors(as_in_a_file)]


def disagreement(content: Any, error: ValidationError | None) -> Iterator[str]:
    """Places at which the schema is stricter than the model, or takes what the model refuses for its structure."""
    found = refusals(content)
    if error is None:
        yield from (f"the schema refuses {refusal}" for refusal in found if not refusal.startswith(_OPTIONS))
    elif not found:
        wrong = (detail for detail in error.errors() if not _beyond_structure(detail))
        yield from (f"the schema accepts {detail['loc']}: {detail['msg']}" for detail in wrong)


def _beyond_structure(detail: ErrorDetails) -> bool:
    return detail["type"] in _OF_VALIDATORS or (detail["type"] in _OF_AMOUNTS and isinstance(detail["input"], str))
