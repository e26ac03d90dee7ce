"""`make docs`: all pages have their place, all links lead somewhere, and the site needs no network."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from setup.docs_site import on_page_markdown
from tests.documentation.markdown import ROOT

_REMOTE = re.compile(
    r"<(?:script|img|iframe|source)\b[^>]*\bsrc=\"?https?:|<link\b[^>]*\bhref=\"?https?:|url\(\"?https?:"
)


def test_the_site_is_built_without_a_warning_and_fetches_nothing(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "-f", str(ROOT / "mkdocs.yml"), "-d", str(tmp_path)]
    environment = os.environ | {"NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr
    pages = [*tmp_path.rglob("*.html"), *tmp_path.rglob("*.css")]
    assert {"index.html", "scenarios.html", "changelog.html"} <= {page.name for page in pages}
    assert [page.name for page in pages if _REMOTE.search(page.read_text(encoding="utf-8"))] == []
    assert (tmp_path / "search" / "search_index.js").is_file(), "the search of pages that are opened as files"


def test_files_outside_of_the_site_are_named() -> None:
    assert (
        on_page_markdown("see [the loop](../a/b.py#L1) and [a page](c.md)")
        == "see the loop (`a/b.py`) and [a page](c.md)"
    )
    assert on_page_markdown("[`b.py`](../a/b.py), ![x](images/x.png)") == "`b.py`, ![x](images/x.png)"
