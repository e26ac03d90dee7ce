"""Commands about this host."""
# ruff: noqa: PLC0415

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from command_line.help import BAD_INPUT, HOST, INTERRUPTED, epilog
from command_line.options.shared import JsonOption, answer
from record.exit_codes import ExitCode

app = typer.Typer()


@app.command(
    epilog=epilog(
        "brokerlab calibrate",
        "brokerlab calibrate --brokers 56 --out calibrations/planetlab.json",
        "brokerlab emulate scenarios/quickstart.yaml --runtime simulated --calibration calibration.json",
        codes={
            ExitCode.CORRECT: "measured and saved",
            ExitCode.INVALID: "measured and saved, but this host was too busy: measure again",
        }
        | BAD_INPUT
        | HOST
        | INTERRUPTED,
    )
)
def calibrate(
    *,
    out: Annotated[Path, typer.Option(metavar="FILE", help="File for the calibration.")] = Path("calibration.json"),
    runtime: Annotated[str, typer.Option(help="Runtime of the measured brokers: auto, container or process.")] = "auto",
    brokers: Annotated[
        int, typer.Option(min=2, max=100, help="Number of brokers that share this host while latencies are measured.")
    ] = 30,
) -> None:
    """Measure the processing costs of a real broker on this host, for simulated runs."""
    from command_line.commands.calibrate import calibrate_host

    raise typer.Exit(calibrate_host(out, brokers, runtime))


@app.command(
    epilog=epilog(
        "brokerlab doctor",
        "brokerlab doctor --json",
        codes={ExitCode.CORRECT: "always, because simulated runs work anywhere"},
    )
)
def doctor(*, json: JsonOption = False) -> None:
    """Show the capabilities of this host, the missing ones, and their remedies."""
    from command_line.commands.doctor import examine_host

    with answer(json) as form:
        raise typer.Exit(examine_host(form))


@app.command(
    epilog=epilog(
        "brokerlab clean",
        codes={
            ExitCode.CORRECT: "no remains of ended runs are left",
            ExitCode.HOST: "something is left; the message names it and the reason",
        },
    )
)
def clean() -> None:
    """Remove remains of ended runs from this host, and nothing else."""
    from command_line.commands.clean import clean_host

    raise typer.Exit(clean_host())
