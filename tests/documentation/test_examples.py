"""Scenarios, campaigns, protocols and programs on the pages agree with the code."""

from __future__ import annotations

import json
import re
from pathlib import Path

import msgspec
import pytest

from broker_service.routing import PROTOCOLS
from scenario.loading import load, load_text
from studies.campaign.model import load_campaign
from studies.conformance.protocols import PROTOCOLS as CONFORMANCE_ROWS
from tests.documentation.markdown import PAGES, ROOT

IMPORTS = re.compile(r"^(?:import|from) (?:[^(\n]*\([^)]*\)|.*)", re.MULTILINE)
"""Import statements, those in parentheses over several lines too."""


def text_of(page: str) -> str:
    return (ROOT / page).read_text(encoding="utf-8")


def blocks(page: str, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", text_of(page), re.DOTALL)


def test_the_scenario_of_the_readme_is_the_quickstart() -> None:
    (shown,) = blocks("README.md", "yaml")
    quickstart = load(ROOT / "scenarios" / "quickstart.yaml").resolved()
    assert load_text(shown, "README.md").resolved() | {"description": quickstart["description"]} == quickstart


def test_the_campaign_on_its_page_can_be_loaded(tmp_path: Path) -> None:
    (shown,) = blocks("docs/campaigns.md", "yaml")
    file = tmp_path / "shown.yaml"
    file.write_text(shown.replace("../scenarios", str(ROOT / "scenarios")))
    campaign = load_campaign(file)
    assert (len(campaign.factors), len(campaign.seeds), sorted(campaign.faults)) == (2, 5, ["none", "two"])


@pytest.mark.parametrize("name", PROTOCOLS)
def test_protocols_are_described_with_their_options(name: str) -> None:
    described = text_of("docs/routing-protocols.md").partition("## Existing protocols")[2]
    (section,) = [part for part in described.split("\n### ") if part.partition("\n")[0].endswith(f"(`{name}`)")]
    rows = [row.split("|") for row in section.splitlines() if row.startswith("| `")]
    shown = {option: value.strip(" `") for row in rows for option, value in pairs(row[1], row[2])}
    options = msgspec.structs.fields(PROTOCOLS[name].options)
    assert shown == {option.encode_name: plain(option.default) for option in options}
    assert re.search(rf"^## .*\(`{name}`\)", text_of("docs/guarantees.md"), re.MULTILINE), "no guarantees are stated"


def pairs(names: str, values: str) -> list[tuple[str, str]]:
    """Options and values of a row, which may hold several options that belong together."""
    return list(zip(re.findall(r"`(\w+)`", names), values.split(","), strict=True))


def plain(value: object) -> str:
    return value if isinstance(value, str) else f"{value:g}" if isinstance(value, float) else json.dumps(value)


def test_conformance_names_every_row() -> None:
    for row in CONFORMANCE_ROWS:
        assert f"`{row}`" in text_of("docs/conformance.md"), row


@pytest.mark.parametrize("page", [str(page.relative_to(ROOT)) for page in PAGES])
def test_imports_of_programs_exist(page: str) -> None:
    for block in blocks(page, "python"):
        exec("\n".join(IMPORTS.findall(block)), {})
