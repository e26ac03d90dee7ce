"""`brokerlab replay`: a finished run on the page that shows one that goes on."""

from __future__ import annotations

import threading
from contextlib import suppress
from pathlib import Path

from rich.console import Console

from analysis.live.page import replay_page
from analysis.live.serving import OnePage, PageServer, Versions
from analysis.report.replayed import replay_of
from analysis.run_files.run_directory import read_manifest
from command_line.commands.progress import shown_progress
from record.errors import BadInputError, HostError
from record.exit_codes import ExitCode
from record.files import replace_file


def replay_run(run: Path, html: Path | None) -> ExitCode:
    """`brokerlab replay`: shows a finished run on the page that shows one that goes on. Raises `UserError`s."""
    console = Console(highlight=False)
    read_manifest(run)
    with shown_progress(console, "reading the logs"):
        page = replay_page(replay_of(run))
    if html is not None:
        try:
            replace_file(html, page.encode())
        except OSError as error:
            raise BadInputError(f"--html {html}: {error.strerror}") from None
        console.print(f"replay: {html}", markup=False, soft_wrap=True)
        return ExitCode.CORRECT
    try:
        server = PageServer(OnePage(page), Versions())
    except HostError as error:
        raise HostError(f"{error}; or write the page to a file, with --html FILE") from None
    with server:
        console.print(f"replay   {server.address}", markup=False, soft_wrap=True)
        console.print("Ctrl-C ends it.")
        threading.Thread(target=server.serve_forever, daemon=True).start()
        with suppress(KeyboardInterrupt):
            threading.Event().wait()
    return ExitCode.CORRECT
