"""`brokerlab up`: starts a run that stays, under a supervisor that outlives the terminal."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from rich.console import Console

from analysis.tables.event_choice import EventTable
from command_line.commands.emulate import EmulationRequest, run_once
from command_line.commands.run_engines import RunEngine
from emulation.held.held_runs import CONSOLE, HeldRun, held_runs
from emulation.held.hold import Hold
from emulation.host.processes import RUN_VARIABLE
from emulation.simulation.held_time import require_speed
from record.errors import BadInputError, BrokerDefectError, UserError, unusable_directory
from record.exit_codes import ExitCode
from record.manifest import PhaseName
from record.scratch import system_directory
from scenario.loading import load
from scenario.sections.units import DURATION, SIZE

_POLL = 0.2
"""Seconds between two looks at a supervisor that starts."""
FOREGROUND = "--foreground"
"""The option with which a supervisor is the command itself."""


@dataclass(frozen=True, slots=True)
class HoldRequest:
    """The user's request."""

    scenario: Path
    overrides: Mapping[str, str]
    runtime: str
    links: str
    out: Path
    limit: float
    """Seconds after which the run ends by itself."""
    log_quota: int
    """Bytes of logs at which it does."""
    report: bool
    live: bool
    speed: float | None = None
    """Seconds of virtual time that pass in a second at first; by default 1, and always where brokers are real."""


def start_supervisor(request: HoldRequest, arguments: Sequence[str]) -> int:
    """Starts the supervisor as a process of its own, by the command's own arguments, and returns when the run is up.

    Raises `UserError`s.
    """
    overrides_of(request)
    # Without -P, a module of the user's directory would be taken for a package of brokerlab, such as `analysis.py`.
    written, out = _console_file(request.out)
    with written, out.open(encoding="utf-8", errors="replace") as printed:
        supervisor = subprocess.Popen(
            [sys.executable, "-P", "-m", "command_line", *arguments, FOREGROUND],
            stdin=subprocess.DEVNULL, stdout=written, stderr=written, env=_environment(), start_new_session=True,
        )  # fmt: skip
        try:
            return _await_up(supervisor, out, printed)
        except KeyboardInterrupt:
            supervisor.send_signal(signal.SIGTERM)
            supervisor.wait()
            print(printed.read(), end="")
            return ExitCode.INTERRUPTED
        finally:
            out.unlink(missing_ok=True)  # it has another name once there is a run directory


def hold_run(request: HoldRequest, engine: RunEngine) -> int:
    """Supervises a run until it has been judged. Raises `UserError`s."""
    overrides = overrides_of(request)
    hold = Hold(request.limit, request.log_quota)
    console = Console(highlight=False)
    limit, quota = DURATION.format(request.limit), SIZE.format(request.log_quota)
    virtual = ", of virtual as of real time," if request.runtime == "simulated" else ""
    console.print(
        f"held     at most {limit} after clients have joined{virtual} and at most {quota} of logs",
        markup=False, soft_wrap=True,
    )  # fmt: skip
    emulation = EmulationRequest(
        request.scenario, overrides, request.runtime, request.links, request.out, request.report, None, engine,
        EventTable.ALL, live=request.live, speed=request.speed, hold=hold,
    )  # fmt: skip
    code: int = ExitCode.DEFECT
    try:
        with engine:
            code = run_once(emulation, console).code
    except UserError as error:
        code = error.exit_code
        raise
    except BrokerDefectError:
        code = ExitCode.BROKER_DEFECT
        raise
    finally:
        hold.judged(code)
    return code


def overrides_of(request: HoldRequest) -> dict[str, str]:
    """The changes of the scenario with which it is held. Raises `UserError`s for one that cannot be."""
    for field in ("timeline.run", "timeline.held"):
        if field in request.overrides:
            raise BadInputError(f"--set {field}: a held run lasts until `brokerlab down`, or for the time of --for")
    if request.speed is not None:
        require_speed(request.speed)
    limit = DURATION.format(request.limit)
    overrides = {**request.overrides, "timeline.run": limit, "timeline.held": limit}
    scenario = load(request.scenario, overrides)
    if len(variants := scenario.variants()) > 1:
        raise BadInputError(
            f"vary: one variant is held at a time, and the scenario has {len(variants)}; choose by --set, such as "
            f"--set {' --set '.join(f'{field}=VALUE' for field in variants[0].settings)}"
        )
    if scenario.time_dilation != 1:
        raise BadInputError("time_dilation: a held run goes as fast as its users do; add --set time_dilation=1")
    return overrides


def _await_up(supervisor: subprocess.Popen[bytes], out: Path, printed: TextIO) -> int:
    """Repeats what the supervisor prints until the run is up, or the supervisor has ended."""
    run: HeldRun | None = None
    while True:
        ended = supervisor.poll()
        print(printed.read(), end="", flush=True)
        if ended is not None:
            return ended
        if run is None:
            run = next((each for each in held_runs() if each.supervisor == supervisor.pid), None)
            if run is not None:
                out.rename(run.directory / CONSOLE)
        elif _is_up(run):
            print(printed.read(), end="")
            print(f"what the supervisor prints from now on: {run.directory / CONSOLE}", flush=True)
            return ExitCode.CORRECT
        time.sleep(_POLL)


def _is_up(run: HeldRun) -> bool:
    try:
        status = run.status()
    except UserError:  # it ends just now
        return False
    return status.phase == PhaseName.RUN


def _console_file(directory: Path) -> tuple[TextIO, Path]:
    """A new file for what the supervisor prints. Raises `UserError`."""
    try:
        directory.mkdir(parents=True, exist_ok=True)
        descriptor, name = tempfile.mkstemp(prefix=".up-", suffix=".txt", dir=directory)
    except OSError as error:
        raise unusable_directory(directory, error) from error
    return os.fdopen(descriptor, "w", encoding="utf-8"), Path(name).absolute()


def _environment() -> dict[str, str]:
    """The supervisor's environment: it outlives this command, and is neither its child nor that of another run."""
    environment = {name: value for name, value in os.environ.items() if name != RUN_VARIABLE}
    return environment | {"TMPDIR": str(system_directory()), "PYTHONUNBUFFERED": "1"}
