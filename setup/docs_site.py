"""Hooks of MkDocs (`make docs`): the changelog becomes a page; files that are no page are named instead of linked."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

_OUTSIDE = re.compile(r"\[([^\]]*)\]\(\.\./([^)#\s]+)(?:#[^)\s]*)?\)")
_CHANGELOG = Path(__file__).resolve().parents[1] / "CHANGELOG.md"


def on_files(files: Any, config: Any) -> Any:
    """Adds the changelog, which is not in docs/."""
    from mkdocs.structure.files import File  # noqa: PLC0415 - tests of links read this module without MkDocs

    files.append(File.generated(config, "changelog.md", content=_CHANGELOG.read_text(encoding="utf-8")))
    return files


def on_page_markdown(markdown: str, **_: object) -> str:
    """A page's text, in which a link to a file outside of docs/ is its words and the file's path."""
    return _OUTSIDE.sub(_named, markdown)


def _named(link: re.Match[str]) -> str:
    words, path = link[1], link[2]
    named = words.strip("`") in (path, path.rpartition("/")[2])
    return words if named else f"{words} (`{path}`)"
