"""Scenarios made in the test, without a file."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from scenario.model import Scenario

MakeScenario = Callable[..., Scenario]


@pytest.fixture
def make_scenario() -> MakeScenario:
    """A scenario of 5 brokers; keywords replace or add fields of `publications`, `subscriptions` and of the top."""

    def make(
        publications: Mapping[str, Any] | None = None, subscriptions: Mapping[str, Any] | None = None, **fields: Any
    ) -> Scenario:
        workload = {
            "publications": {"publishers": 4, "rate": "10/s", **(publications or {})},
            "subscriptions": {"subscribers": 6, **(subscriptions or {})},
        }
        defaults = {
            "name": "test",
            "topology": {"kind": "line", "brokers": 5},
            "routing": {"protocol": "tid"},
            "workload": workload,
            "timeline": {"join": "10s", "run": "30s", "drain": "1s"},
        }
        return Scenario.model_validate({**defaults, **fields})

    return make
