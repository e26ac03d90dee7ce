"""`brokerlab conformance --image` and `--command`: holds a broker of any kind to the contract of brokers."""

from __future__ import annotations

import asyncio
import os
import shlex
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from rich.console import Console

from command_line.commands.answers import Answer
from record.errors import BadInputError
from record.exit_codes import ExitCode
from record.wording import count_of
from studies.broker_kit.bench import Bench, Judged
from studies.broker_kit.display import TrialDisplay, trial_display
from studies.broker_kit.programs import CommandHost, Host
from studies.broker_kit.report import TrialReport
from studies.broker_kit.rows import RowResult, RowVerdict
from studies.broker_kit.trial import results, selected
from studies.verdict_files import VerdictFiles


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerConformanceRequest:
    """The arguments and options of `brokerlab conformance` for a broker of the user's own."""

    image: str | None
    command: str | None
    level: int
    protocol: str
    rows: Sequence[str]
    environment: Sequence[str]
    verdict_files: VerdictFiles


def run_broker_conformance(request: BrokerConformanceRequest, answer: Answer) -> ExitCode:
    """Tries the broker row by row, and answers with what it does not keep. Raises `UserError`s."""
    console = answer.console
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")  # a broker's mistakes are rows here, and no log
    request.verdict_files.require_writable()
    rows = selected(request.rows)
    found: list[RowResult] = []
    interrupted = False
    with _host(request, console) as host, trial_display(console, len(rows)) as shown:
        try:
            asyncio.run(_try(Bench(host, Judged(request.level, request.protocol)), request, found, shown))
        except KeyboardInterrupt:
            interrupted = True
    report = TrialReport(request.image or request.command or "", request.level, found)
    request.verdict_files.write(report.suites())
    if interrupted:
        console.print(f"interrupted after {len(found)} of {count_of(len(rows), 'row')}; nothing is left running")
    console.print(report.summary(), markup=False, soft_wrap=True)
    answer.document(report.content())
    if report.count(RowVerdict.FAILED):
        return ExitCode.VIOLATED
    return ExitCode.INTERRUPTED if interrupted else ExitCode.CORRECT


async def _try(bench: Bench, request: BrokerConformanceRequest, found: list[RowResult], shown: TrialDisplay) -> None:
    try:
        async for result in results(bench, selected(request.rows), shown.doing):
            found.append(result)
            shown.done(result)
    finally:
        await bench.close()


@contextmanager
def _host(request: BrokerConformanceRequest, console: Console) -> Iterator[Host]:
    environment = _environment(request.environment)
    try:
        command = shlex.split(request.command or "")
    except ValueError as error:
        raise BadInputError(f"--command {request.command}: {error}; quote it as a shell takes it") from None
    if request.image is None:
        if not command:
            raise BadInputError("--command: name the program of the broker, such as --command './broker --quiet'")
        if shutil.which(command[0]) is None:
            raise BadInputError(f"--command: there is no program {command[0]} on this host, or it cannot be executed")
        with TemporaryDirectory(prefix="kit-") as directory:
            yield CommandHost(command, Path(directory), environment)
        return
    from emulation.runtimes.ladder import AUTO, Rungs, choose  # noqa: PLC0415 - loads Docker
    from studies.broker_kit.containers import ImageProgram, container_host  # noqa: PLC0415

    rungs = choose("container", AUTO, partial(console.print, markup=False, soft_wrap=True))
    if not isinstance(rungs, Rungs) or rungs.docker is None:
        raise BadInputError("--image: this host has no Docker; use --command")
    program = ImageProgram(image=request.image, command=command, environment=environment)
    with container_host(rungs.docker.client, rungs.image or "", program) as host:
        yield host


def _environment(given: Sequence[str]) -> Mapping[str, str]:
    pairs = [item.partition("=") for item in given]
    for name, sign, _ in pairs:
        if not (name and sign):
            raise BadInputError(f"--environment {name}: write NAME=VALUE")
    return {name: value for name, _, value in pairs}
