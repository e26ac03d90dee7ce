"""docs/scenarios.md says what is: its reference is the models', its examples load."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from scenario.loading import load
from scenario.reference import SECTIONS, reference, updated
from scenario.sections.section import Section
from scenario.workload.generate import generate

DOCUMENT = Path("docs/scenarios.md")
EXAMPLES = re.findall(r"```yaml\n(.*?)```", DOCUMENT.read_text(encoding="utf-8"), re.DOTALL)


def models(model: type[Section]) -> Iterator[str]:
    yield model.__name__
    parts = model.model_json_schema().get("$defs", {})
    yield from (name for name, schema in parts.items() if "enum" not in schema)  # words are listed where they are used


def test_the_reference_is_up_to_date() -> None:
    text = DOCUMENT.read_text(encoding="utf-8")
    assert updated(text) == text, "run: python -m scenario.reference docs/scenarios.md"


def test_every_section_is_described() -> None:
    assert set(models(SECTIONS["the whole scenario"])) == {model.__name__ for model in SECTIONS.values()}


def test_every_field_is_described() -> None:
    for line in reference().splitlines():
        cells = line.split(" | ")
        if len(cells) == 4 and not line.startswith("| field"):
            assert all(cell.strip(" |") for cell in cells), line


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.split("\n", 1)[0])
def test_examples_load(tmp_path: Path, example: str) -> None:
    path = tmp_path / "example.yaml"
    path.write_text(example)
    for variant in load(path).variants():
        workload = generate(variant.scenario, variant.scenario.overlay())
        assert workload.estimate().publications == sum(o.operation == "publish" for o in workload.operations())


def test_a_document_without_markers_is_refused() -> None:
    with pytest.raises(ValueError, match="lacks the lines"):
        updated("# nothing")
