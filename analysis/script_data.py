"""Data of a page that its script reads: JSON inside of a script element."""

from __future__ import annotations

from markupsafe import Markup


def in_script(json: str) -> Markup:
    """JSON text as it may stand in a script element: no character of it can end the element."""
    for character in "<>&\u2028\u2029":
        json = json.replace(character, f"\\u{ord(character):04x}")
    return Markup(json)  # noqa: S704 - see above
