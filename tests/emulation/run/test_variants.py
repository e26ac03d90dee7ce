"""The variants of a run, one after another."""

from __future__ import annotations

import gc
import os
import signal
import weakref
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast
from unittest.mock import MagicMock

import pytest

import emulation.run.variants
from emulation.fidelity import Measurements
from emulation.host.run_paths import RunPaths
from emulation.network.model import NetworkError
from emulation.planning.plan import Plan, VariantPlan, make_plan
from emulation.run.context import RunContext
from emulation.run.deployment import Deployment
from emulation.run.directory import save_overlays
from emulation.run.interrupt import Interrupt
from emulation.run.progress import Snapshot
from emulation.run.variants import run_variants, turns_of
from record.errors import HostError
from scenario.loading import load

ROOT = Path(__file__).resolve().parents[3]


class DeploymentInACircle:
    """A deployment that refers to itself, as the nodes of a network do."""

    def __init__(self) -> None:
        self.itself = self

    def clock(self) -> int:
        return 0


def quickstart() -> Plan:
    return make_plan(load(ROOT / "scenarios" / "quickstart.yaml"))


def context_in(directory: Path, plan: Plan) -> RunContext:
    """The context of a run of this plan, which shows and logs nothing."""
    paths = RunPaths.of(plan.run_id, directory)
    paths.make()
    manifest: Any = SimpleNamespace(variants=[], interrupted=False)
    return RunContext(
        paths=paths, manifest=manifest, snapshot=Snapshot(), display=MagicMock(), interrupt=Interrupt(),
        log=MagicMock(), clock=lambda: 0,
    )  # fmt: skip


@pytest.fixture
def without_automatic_collections() -> Iterator[None]:
    gc.disable()
    yield
    gc.enable()


@pytest.mark.parametrize("meanwhile", [None, 0, 1, 2], ids=lambda generation: f"collected-{generation}")
@pytest.mark.usefixtures("without_automatic_collections")
def test_nothing_is_left_of_a_variant_when_the_next_one_begins(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, meanwhile: int | None
) -> None:
    """Nor when garbage of this generation and of younger ones is collected while a variant runs."""
    plan = quickstart()
    executed: list[str] = []
    deployed: list[weakref.ref[DeploymentInACircle]] = []

    def variant_run(context: RunContext, variant: VariantPlan, *_: object) -> SimpleNamespace:
        def execute() -> None:
            executed.append(variant.name)
            if meanwhile is not None:
                gc.collect(meanwhile)

        return SimpleNamespace(execute=execute)

    def deploy(_: VariantPlan, __: Measurements) -> AbstractContextManager[Deployment]:
        assert not any(former() for former in deployed)
        deployment = DeploymentInACircle()
        deployed.append(weakref.ref(deployment))
        return nullcontext(cast("Deployment", deployment))

    monkeypatch.setattr(emulation.run.variants, "VariantRun", variant_run)
    context = context_in(tmp_path, plan)
    measured = run_variants(context, turns_of(plan, save_overlays(plan, context.paths)), deploy)
    assert executed == [one.variant for one in measured] == ["fixed", "dynamic"]


@pytest.mark.parametrize("error", [HostError("broker B1 got signal 15"), NetworkError("the relay has ended")])
def test_what_ends_with_the_emulator_is_no_failure_of_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: HostError
) -> None:
    """A signal to all processes of a run ends its brokers a moment before the emulator looks at them."""
    plan = quickstart()
    context = context_in(tmp_path, plan)
    turns = turns_of(plan, save_overlays(plan, context.paths))
    deploy = MagicMock(side_effect=error)
    with pytest.raises(HostError, match=str(error)):
        run_variants(context, turns, deploy)
    assert not context.manifest.interrupted
    monkeypatch.setattr(RunContext, "keep_manifest", lambda _: None)
    with context.interrupt:
        os.kill(os.getpid(), signal.SIGTERM)
        assert run_variants(context, turns, deploy) == []
    assert context.manifest.interrupted
    assert deploy.call_count == 2
