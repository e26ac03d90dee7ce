"""Numbers and names within sentences."""

from __future__ import annotations

import json

_AS_PUBLISHED = {"cbf": "CBF", "dcsr": "DCSR", "medym": "MEDYM", "octopia": "OctopiA", "padres": "PADRES", "tid": "TID"}
"""Names in scenarios that their authors spell in another way."""
_PREFIX = "protocol-"
"""Beginning of the name of a variant that chooses a protocol among other fields."""


def capitalised(text: str) -> str:
    """A sentence whose first letter is made a capital one."""
    return text[:1].upper() + text[1:]


def variant_name(variant: str) -> str:
    """A variant's name as people write it: `DCSR` for `dcsr`, `rendezvous+2` for `protocol-rendezvous+2`."""
    words = (word.removeprefix(_PREFIX) for word in variant.split("+"))
    return "+".join(_AS_PUBLISHED.get(word, word) for word in words)


def setting_value(value: object) -> str:
    """The value of a scenario's field as one writes it in the file."""
    return value if isinstance(value, str) else json.dumps(value)


def milliseconds(value: float | None) -> str:
    """A delay; below 100 ms with its tenths."""
    if value is None:
        return "–"
    return f"{value:,.0f} ms" if value >= 100 else f"{value:.1f} ms"


def rounded(value: float) -> str:
    """A part of a delay, without its unit; below 10 with its tenths."""
    return f"{value:,.0f}" if value >= 10 else f"{value:.1f}"
