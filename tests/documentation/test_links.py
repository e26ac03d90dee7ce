"""Links, anchors, and files named in pages and sources exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.documentation.markdown import PAGES, ROOT, anchors, links, spans

PACKAGES = (
    "analysis",
    "benchmarks",
    "broker_service",
    "brokerlab",
    "campaigns",
    "command_line",
    "docs",
    "emulation",
    "examples",
    "record",
    "scenario",
    "scenarios",
    "setup",
    "studies",
    "topology",
)
_FILE = re.compile(rf"(?:{'|'.join((*PACKAGES, 'tests', 'proto'))})/[\w./*-]*[\w*/]")
_PAGE = re.compile(r"docs/[\w-]+\.md")


def name(page: Path) -> str:
    return str(page.relative_to(ROOT))


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_links_and_anchors_exist(page: Path) -> None:
    for link in links(page):
        target, _, anchor = link.partition("#")
        there = (page.parent / target).resolve() if target else page
        assert there.exists(), f"{link}: {there} does not exist"
        assert not anchor or anchor in anchors(there), f"{link}: {there.name} has no such heading"


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_files_that_are_named_exist(page: Path) -> None:
    for span in spans(page):
        if _FILE.fullmatch(span):
            assert any(ROOT.glob(span)) or "<" in span, f"{span} does not exist"


def test_every_page_is_reached_from_the_readme() -> None:
    reached, waiting = set(), [ROOT / "README.md"]
    while waiting:
        page = waiting.pop()
        if page not in reached and page.suffix == ".md":
            reached.add(page)
            waiting += [(page.parent / link.partition("#")[0]).resolve() for link in links(page) if link[0] != "#"]
    assert reached >= set(PAGES)


def test_every_page_has_its_place_in_the_site() -> None:
    placed = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    assert [page.name for page in (ROOT / "docs").glob("*.md") if f": {page.name}\n" not in placed] == []


def test_pages_that_sources_name_exist() -> None:
    for package in PACKAGES:
        for source in (ROOT / package).rglob("*"):
            if source.suffix in {".py", ".sh", ".yaml", ".html"} and source.is_file():
                for page in _PAGE.findall(source.read_text(encoding="utf-8")):
                    assert (ROOT / page).exists(), f"{source}: {page} does not exist"


def test_the_readme_is_short() -> None:
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= 150
