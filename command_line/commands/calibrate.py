"""`brokerlab calibrate`: measures the real broker on this host, for simulated runs."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

from emulation.planning.calibration import save_calibration
from emulation.run.interrupt import Interrupted, QuickStop
from emulation.runtimes.ladder import AUTO, RUNTIMES, SIMULATED
from record.errors import BadInputError
from record.exit_codes import ExitCode
from record.fidelity import FidelityVerdict
from studies.calibration import calibrate
from studies.calibration.measure import Measured

_RUNTIMES = (AUTO, *(name for name in RUNTIMES if name != SIMULATED))
_QUANTILES = (0.05, 0.5, 0.95, 0.99)


def calibrate_host(out: Path, brokers: int, runtime: str) -> ExitCode:
    """Measures, prints and saves. Raises `UserError`s."""
    if runtime not in _RUNTIMES:
        raise BadInputError(f"--runtime {runtime}: choose {', '.join(_RUNTIMES)}")
    nearest = next(place for place in (out.absolute(), *out.absolute().parents) if place.exists())
    if out.is_dir() or not (nearest == out.absolute() or nearest.is_dir()) or not os.access(nearest, os.W_OK):
        raise BadInputError(f"--out {out}: no file can be made there; name another one")
    console = Console(highlight=False)
    console.print(
        "measuring a real broker on this host; about a minute and a half, best with nothing else running",
        soft_wrap=not console.is_terminal,
    )
    try:
        measured = calibrate(brokers, runtime, console, lambda what: console.print(f"  {what}", markup=False))
    except (KeyboardInterrupt, Interrupted, QuickStop):
        console.print("interrupted; nothing is left running, and nothing was saved")
        return ExitCode.INTERRUPTED
    save_calibration(measured.calibration, out)
    _report(console, measured)
    console.print(f"\nsaved: {out}", markup=False, soft_wrap=True)
    console.print(
        f"use it: brokerlab emulate SCENARIO --runtime simulated --calibration {out}", markup=False, soft_wrap=True
    )
    if measured.latencies.verdict is FidelityVerdict.INVALID:
        console.print("this host was too busy for its links: measure again when nothing else runs", style="red")
        return ExitCode.INVALID
    return ExitCode.CORRECT


def _report(console: Console, measured: Measured) -> None:
    calibration = measured.calibration
    assert calibration.origin is not None
    console.print(f"\n{calibration.origin.method}", markup=False, soft_wrap=True)
    latencies = Table("latency, ms", "messages", "mean", "5%", "median", "95%", "99%", box=None, pad_edge=False)
    for name, times in (
        ("client to broker", measured.latencies.intervals.submit),
        ("between brokers, besides the link", measured.latencies.intervals.link),
        ("broker to client", measured.latencies.intervals.notify),
    ):
        values = np.array(times) / 1e6
        quantiles = (f"{value:.3f}" for value in np.quantile(values, _QUANTILES))
        latencies.add_row(name, f"{len(values):,}", f"{values.mean():.3f}", *quantiles)
    console.print(latencies)
    console.print("with the work of the broker where each ends; the file keeps the two apart\n")
    work = Table("processor time, us", "", box=None, pad_edge=False)
    work.add_row("a frame, in and out", f"{calibration.frame / 1e3:.1f}")
    for kind, time in calibration.work.items():
        work.add_row(f"a message, {kind}", f"{time / 1e3:.1f}")
    console.print(work)
