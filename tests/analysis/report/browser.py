"""Pages of files as Chromium shows them, without a network."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import msgspec

from tests.analysis.live.driven_browser import Scheme, driven_page

_HEIGHT = 1400
_LOOKS = 1500
_IS_DRAWN = """
await new Promise(done => setTimeout(done, 20));
return "plots" in document.documentElement.dataset;
"""


class Seen(msgspec.Struct):
    """Findings of a script in a page."""

    errors: list[str]
    requests: list[str]
    """Addresses that the page asked for."""
    value: Any


def look(file: Path, script: str, width: int = 1280, scheme: Scheme = Scheme.LIGHT) -> Seen:
    """Opens a page at a width, and runs a script when its plots are drawn. The script's `return` is the value."""
    with tempfile.TemporaryDirectory() as profile, driven_page(Path(profile)) as page:
        page.show(width, scheme, _HEIGHT)
        page.open(file.as_uri())
        drawn = any(page.errors or page.value(_IS_DRAWN) for _ in range(_LOOKS))
        assert drawn, "the page never drew its plots"
        value = None if page.errors else page.value(script)
        asked = (name for name in page.requests if not name.startswith(("blob:", "data:")))
        return Seen(page.errors, [name for name in asked if name != file.as_uri()], value)
