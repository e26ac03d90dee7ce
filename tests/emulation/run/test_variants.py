"""The variants of a run, one after another."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

import emulation.run.variants
from emulation.fidelity import Measurements
from emulation.host.run_paths import RunPaths
from emulation.planning.plan import VariantPlan, make_plan
from emulation.run.context import RunContext
from emulation.run.deployment import Deployment
from emulation.run.directory import save_overlays
from emulation.run.interrupt import Interrupt
from emulation.run.progress import Snapshot
from emulation.run.variants import run_variants, turns_of
from scenario.loading import load

ROOT = Path(__file__).resolve().parents[3]


class DeploymentInACircle:
    """A deployment that refers to itself, as the nodes of a network do."""

    def __init__(self) -> None:
        self.itself = self

    def clock(self) -> int:
        return 0


@pytest.fixture
def without_automatic_collections() -> Iterator[None]:
    gc.disable()
    yield
    gc.enable()


@pytest.mark.usefixtures("without_automatic_collections")
def test_nothing_is_left_of_a_variant_when_the_next_one_begins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = make_plan(load(ROOT / "scenarios" / "quickstart.yaml"))
    executed: list[str] = []
    deployed: list[weakref.ref[DeploymentInACircle]] = []

    def variant_run(context: RunContext, variant: VariantPlan, *_: object) -> SimpleNamespace:
        return SimpleNamespace(execute=lambda: executed.append(variant.name))

    def deploy(_: VariantPlan, __: Measurements) -> AbstractContextManager[Deployment]:
        assert not any(former() for former in deployed)
        deployment = DeploymentInACircle()
        deployed.append(weakref.ref(deployment))
        return nullcontext(cast("Deployment", deployment))

    monkeypatch.setattr(emulation.run.variants, "VariantRun", variant_run)
    nothing: Any = SimpleNamespace()
    paths = RunPaths.of(plan.run_id, tmp_path)
    paths.make()
    context = RunContext(
        paths=paths, manifest=cast("Any", SimpleNamespace(variants=[])), snapshot=Snapshot(), display=nothing,
        interrupt=Interrupt(), log=nothing, clock=lambda: 0,
    )  # fmt: skip
    measured = run_variants(context, turns_of(plan, save_overlays(plan, paths)), deploy)
    assert executed == [one.variant for one in measured] == ["fixed", "dynamic"]
