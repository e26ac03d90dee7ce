"""A small scenario to which a test adds sections, and a routing protocol with the promises that a test wants.

Every scenario that a test here has read is given to the schema for editors as well.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest
from pydantic import ValidationError

from broker_service.routing import PROTOCOLS
from broker_service.routing.declaration import Protocol
from broker_service.routing.tid import TidOptions
from record.promises import Promises
from scenario.loading import load
from scenario.model import Scenario
from tests.scenario.editors import disagreement

SMALL_SCENARIO = """name: s
seed: 11
topology: {kind: line, brokers: 2}
routing: {protocol: tid}
workload: {operations: [{at: 0s, broker: B1, client: S, id: s1, subscribe: "[class,eq,'STOCK']"}]}
timeline: {join: 1s, run: 1s}
"""


@pytest.fixture
def load_with(tmp_path: Path) -> Callable[[str], Scenario]:
    """Loads `scenario.yaml` with the given sections, which begin in line 7, behind those of `SMALL_SCENARIO`."""

    def loaded(sections: str) -> Scenario:
        file = tmp_path / "scenario.yaml"
        file.write_text(f"{SMALL_SCENARIO}{sections}\n")
        return load(file)

    return loaded


@pytest.fixture
def promise(monkeypatch: pytest.MonkeyPatch) -> Callable[[Promises], None]:
    """Has the protocol `tid` make the given promises instead of its own."""

    def promised(promises: Promises) -> None:
        class PromisingOptions(TidOptions, frozen=True, kw_only=True, forbid_unknown_fields=True):
            @property
            def promises(self) -> Promises:
                return promises

        promising = replace(PROTOCOLS["tid"], options=PromisingOptions)
        monkeypatch.setitem(cast(dict[str, Protocol], PROTOCOLS), "tid", promising)

    return promised


@pytest.fixture(autouse=True)
def _editors_agree(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Fails a test after which the loader and the schema disagree about a scenario that it read."""
    found: list[str] = []
    validate = Scenario.model_validate

    def validated(content: Any, **options: Any) -> Scenario:
        try:
            scenario = validate(content, **options)
        except ValidationError as error:
            found.extend(disagreement(content, error))
            raise
        found.extend(disagreement(content, None))
        return scenario

    monkeypatch.setattr(Scenario, "model_validate", validated)
    yield
    assert not found
