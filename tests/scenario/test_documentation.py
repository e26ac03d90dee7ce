"""Pages about scenarios say what is: their tables are those of the models, the examples of docs/scenarios.md load."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from broker_service.routing import PROTOCOLS
from broker_service.routing.systems import SYSTEMS
from scenario.loading import load
from scenario.reference import DOCS, PAGES, SECTIONS, Page, page
from scenario.sections.section import Section
from scenario.workload.generate import generate

EXAMPLES = re.findall(r"```yaml\n(.*?)```", (DOCS / "scenarios.md").read_text(encoding="utf-8"), re.DOTALL)


def models(model: type[Section]) -> Iterator[str]:
    yield model.__name__
    parts = model.model_json_schema().get("$defs", {})
    yield from (name for name, schema in parts.items() if "enum" not in schema)  # words are listed where they are used


@pytest.mark.parametrize("shown", PAGES, ids=lambda shown: shown.file)
def test_a_page_is_up_to_date_and_describes_every_field(shown: Page) -> None:
    text = page(shown)
    assert (DOCS / shown.file).read_text(encoding="utf-8") == text, "run: python -m scenario.reference"
    for line in text.splitlines():
        cells = line.split(" | ")
        if len(cells) == 4 and not line.startswith("| field"):
            assert all(cell.strip(" |") for cell in cells), line


def test_every_section_is_on_one_page() -> None:
    text = "".join((DOCS / shown.file).read_text(encoding="utf-8") for shown in PAGES)
    assert sorted(re.findall(r"^## (.*)$", text, re.MULTILINE)) == sorted(
        [
            *SECTIONS,
            *(f"routing, protocol: {name}" for name in PROTOCOLS),
            *(f"routing, system: {name}" for name in SYSTEMS),
        ]
    )


def test_every_section_is_described() -> None:
    assert set(models(SECTIONS["the whole scenario"])) == {model.__name__ for model in SECTIONS.values()}


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.split("\n", 1)[0])
def test_examples_load(tmp_path: Path, example: str) -> None:
    path = tmp_path / "example.yaml"
    path.write_text(example)
    for variant in load(path).variants():
        workload = generate(variant.scenario, variant.scenario.overlay())
        assert workload.estimate().publications == sum(o.operation == "publish" for o in workload.operations())
