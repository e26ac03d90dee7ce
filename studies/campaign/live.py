"""The pages of a campaign that goes on: its matrix as it fills, and the replay of each run that is kept.

    python -m studies.campaign.live CAMPAIGN_DIRECTORY

All is read from the campaign's directory, so nothing waits for it (`analysis.live.serving`).
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Mapping
from pathlib import Path

from analysis.live.page import replay_page
from analysis.live.serving import HTML, Answer, Versions, serve_while_it_goes_on
from analysis.report.replayed import replay_of
from record.errors import UserError
from studies.campaign.directory import CampaignDirectory
from studies.campaign.report.page import Following, render
from studies.cells.store import RUNS

LOOK_EVERY = 1.0
"""Seconds between two looks at the directory."""
_REPLAY = "/replay/"


class CampaignPages:
    """The pages of one campaign."""

    def __init__(self, directory: CampaignDirectory) -> None:
        self.versions = Versions()
        self._directory = directory
        self._seen: Mapping[Path, int] = {}

    def follow(self, over: threading.Event) -> None:
        """Looks at the directory until the campaign is over, and then once more."""
        while not over.wait(LOOK_EVERY):
            self._look()
        with self.versions.changed:
            self.versions.next(self.versions.now + 1, over=True)

    def answer(self, path: str, since: int, query: str) -> Answer | None:
        """The matrix, or the replay of a cell's run."""
        if path == "/":
            return Answer(HTML, self._matrix(query).encode())
        run = self._kept().get(path.removeprefix(_REPLAY)) if path.startswith(_REPLAY) else None
        if run is None:
            return None
        return Answer(HTML, replay_page(replay_of(run)).encode())

    def news(self, since: int) -> bytes:
        """A word, at which a page asks for the whole matrix."""
        return b'"changed"'

    def _matrix(self, query: str) -> str:
        versions = self.versions
        events = "" if versions.over else f"/events?{query}&since={versions.now}"
        replays = {key: f"{_REPLAY}{key}?{query}" for key in self._kept()}
        return render(self._directory.summary(), self._directory.path, Following(events, replays))

    def _kept(self) -> dict[str, Path]:
        """The latest run directory of each cell that keeps one, by the cell's key."""
        runs = sorted(self._directory.cells.glob(f"*/{RUNS}/*"))
        return {run.parent.parent.name: run for run in runs}

    def _look(self) -> None:
        files = [*self._directory.cells.glob("*/result.json"), *self._directory.cells.glob(f"*/{RUNS}/*")]
        seen: dict[Path, int] = {}
        for file in files:
            try:
                seen[file] = file.stat().st_mtime_ns
            except OSError:  # replaced just now
                continue
        if seen != self._seen:
            self._seen = seen
            with self.versions.changed:
                self.versions.next(self.versions.now + 1)


def main(directory: Path) -> None:
    try:
        serve_while_it_goes_on(CampaignPages(CampaignDirectory(directory)))
    except UserError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
