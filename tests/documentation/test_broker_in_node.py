"""The broker in Node is as short as its pages say, and loads its extension only among native brokers."""

from __future__ import annotations

import re

from tests.documentation.markdown import ROOT

EXAMPLE = ROOT / "examples" / "brokers" / "node"
FEWER_THAN = 600
LONGEST_LINE = 132
"""Characters: fewer lines are no shorter program when they are longer."""


def test_the_broker_has_fewer_lines_than_its_pages_say() -> None:
    sources = [path.read_text(encoding="utf-8") for path in sorted(EXAMPLE.glob("*.js"))]
    assert sources
    assert sum(source.count("\n") for source in sources) < FEWER_THAN
    assert max(len(line) for source in sources for line in source.splitlines()) <= LONGEST_LINE
    for page in (EXAMPLE / "README.md", ROOT / "docs" / "broker-of-your-own.md"):
        assert f"fewer than {FEWER_THAN} lines" in re.sub(r"\s+", " ", page.read_text(encoding="utf-8"))


def test_one_line_of_the_broker_names_its_extension() -> None:
    naming = [path.name for path in EXAMPLE.glob("*.js") for line in path.read_text().splitlines() if "./wire/" in line]
    assert naming == ["broker.js"]
