"""What a scenario may choose about OctopiA."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import msgspec


class OctopiaOptions(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The scenario's `routing` section for this protocol."""

    publications: Literal["static", "inter-cluster-dynamic"] = "static"
    """SPR (Algorithm 3) or IDR (Algorithm 4)."""
    congestion_threshold: float = 10.0
    """tau of Eq. 3: above it a link is overloaded (section 10)."""
    status_interval: float = 0.05
    """t_w of Eq. 3, in seconds."""
    reconcile_after: float = 5.0
    """Seconds a restarted neighbour has to say again what came through it."""

    @classmethod
    def read(cls, options: Mapping[str, Any]) -> OctopiaOptions:
        """Raises `ValueError`, naming the option."""
        return msgspec.convert(dict(options), cls)
