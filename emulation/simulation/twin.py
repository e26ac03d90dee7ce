"""The simulated twin of a run on real brokers: the same plan in virtual time, in the directory of that run."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path

from emulation.planning.calibration import Calibration
from emulation.planning.plan import Plan
from emulation.run.directory import RunOutcome
from emulation.run.interrupt import Interrupt
from emulation.run.progress import RunDisplay, Snapshot, no_display
from emulation.simulation.run import simulate
from record.errors import BadInputError, HostError
from record.files import TWIN
from record.manifest import RungChoice
from scenario.model import Scenario

_SIMULATED = "simulated"


def twin_plan(plan: Plan) -> Plan:
    """The plan of a run's twin: the same variants of the same seed, without dilation, because virtual time needs none.

    Raises `BadInputError` where the simulator cannot do what the scenario asks for.
    """
    twin = replace(
        plan,
        run_id=f"{plan.run_id}/{TWIN}",
        scenario=_undilated(plan.scenario),
        variants=tuple(replace(variant, scenario=_undilated(variant.scenario)) for variant in plan.variants),
    )
    try:
        twin.require_possible(_SIMULATED)
    except HostError as error:
        raise BadInputError(f"--twin: the simulator cannot run this scenario; leave --twin out: {error}") from error
    return twin


def simulate_twin(
    plan: Plan,
    out: Path,
    *,
    calibration: Calibration | None = None,
    show: Callable[[Snapshot], AbstractContextManager[RunDisplay]] = no_display,
    interrupt: Interrupt | None = None,
) -> RunOutcome:
    """Runs a `twin_plan` below `out`, with the costs of `calibration`, the shipped ones by default.

    The twin is complete, or nothing is left of it. Raises `UserError`s.
    """
    directory = out / plan.run_id
    choice = RungChoice(_SIMULATED, "the twin of a run on real brokers")
    try:
        outcome = simulate(plan, out, calibration=calibration, runtime=choice, show=show, interrupt=interrupt)
    except BaseException:
        shutil.rmtree(directory, ignore_errors=True)
        raise
    if outcome.interrupted:
        shutil.rmtree(directory)
    return outcome


def _undilated(scenario: Scenario) -> Scenario:
    return scenario.model_copy(update={"time_dilation": 1.0})
