"""Data of a page that its script reads: JSON inside of a script element, or anything compressed."""

from __future__ import annotations

import base64
import gzip

from markupsafe import Markup


def in_script(json: str) -> Markup:
    """JSON text as it may stand in a script element: no character of it can end the element."""
    for character in "<>&\u2028\u2029":
        json = json.replace(character, f"\\u{ord(character):04x}")
    return Markup(json)  # noqa: S704 - see above


def compressed(content: bytes) -> Markup:
    """Content as a script element of the type `application/gzip` holds it; `unpacked.js` reads it. Equal contents are
    equal texts."""
    return Markup(base64.b64encode(gzip.compress(content, mtime=0)).decode())  # noqa: S704 - letters and digits
