"""docs/broker-contract.md and its schemas: what is numbered there, and what the code writes."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

from tests.documentation.contract_schemas import FOLDER, schemas

PAGE = Path(__file__).parents[2] / "docs" / "broker-contract.md"
_STATEMENT = re.compile(r"^- \*\*([A-Z]{1,2})-(\d+)\*\*", re.MULTILINE)


@pytest.mark.parametrize("name", ["broker.schema.json", "log-record.schema.json"])
def test_the_schemas_are_those_of_the_types(name: str) -> None:
    assert (FOLDER / name).read_bytes() == schemas()[name], "run `python -m tests.documentation.contract_schemas`"


def test_statements_are_numbered_without_gaps_so_that_reports_can_name_them() -> None:
    found = _STATEMENT.findall(PAGE.read_text())
    assert {part: count for part, count in Counter(part for part, _ in found).items() if count > 1}.keys() >= {
        "P", "C", "N", "R", "S", "V", "A", "ST", "F", "L", "W",
    }  # fmt: skip
    for part in dict.fromkeys(part for part, _ in found):
        numbers = [int(number) for found_part, number in found if found_part == part]
        assert numbers == list(range(1, len(numbers) + 1)), part
