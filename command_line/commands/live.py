"""The pages of `--live`, which show a run or a campaign while it goes on."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path

from rich.console import Console

from emulation.host.processes import end_child

_SOURCE_ROOT = Path(__file__).resolve().parents[2]
_END_WITHIN = 10.0
"""Seconds that the server of a page gets to read what is left of the logs."""


class LivePage(StrEnum):
    """The programs that serve pages; each takes a directory."""

    RUN = "analysis.live.server"
    CAMPAIGN = "studies.campaign.live"


@contextmanager
def live_page(page: LivePage, directory: Path, console: Console) -> Iterator[None]:
    """Serves a page within, from a process of its own, without which the work goes on."""
    server = subprocess.Popen(
        [sys.executable, "-m", page.value, str(directory.absolute())],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd=_SOURCE_ROOT,
        start_new_session=True,
    )  # fmt: skip
    assert server.stdout is not None
    address = server.stdout.readline().decode().strip()
    console.print(f"live     {address or 'no page: its server did not start'}", markup=False, soft_wrap=True)
    try:
        yield
    finally:
        if address.startswith("http:") and server.poll() is not None:
            console.print("live     the page's server ended early; the work went on without it")
        end_child(server, _END_WITHIN)
