"""A router around another one, for tests that spoil some of what a router decides."""

from __future__ import annotations

from typing import Any

from broker_service.routing.interface import Router


class WrappedRouter:
    """Does what another router does, and passes for one of its class, so that it has the same capabilities."""

    def __init__(self, router: Router) -> None:
        self._router = router

    def __getattr__(self, name: str) -> Any:
        return getattr(self._router, name)

    @property
    def __class__(self) -> type[Router]:  # type: ignore[override]
        return type(self._router)
