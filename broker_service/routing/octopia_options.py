"""What a scenario may choose about OctopiA."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import msgspec


class OctopiaOptions(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The scenario's `routing` section for this protocol."""

    publications: Literal["static"] = "static"
    reconcile_after: float = 5.0
    """Seconds a restarted neighbour has to say again what came through it."""

    @classmethod
    def read(cls, options: Mapping[str, Any]) -> OctopiaOptions:
        """Raises `ValueError`, naming the option."""
        return msgspec.convert(dict(options), cls)
