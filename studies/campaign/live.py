"""The pages of a campaign that goes on: its matrix as it fills, and the replay of each run that is kept.

    python -m studies.campaign.live CAMPAIGN_DIRECTORY

All is read from the campaign's directory, so nothing waits for it (`analysis.live.serving`).
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from analysis.live.page import replay_page
from analysis.live.serving import HTML, Answer, Versions, serve_while_it_goes_on
from analysis.report.replayed import replay_of
from record.errors import UserError
from studies.campaign.directory import CampaignDirectory
from studies.campaign.matrix import CellLine
from studies.campaign.report.page import Following, render
from studies.cells.store import RUNS

LOOK_EVERY = 1.0
"""Seconds between two looks at the directory."""
_REPLAY = "/replay/"


@dataclass(frozen=True)
class _Seen:
    """Findings of a look at the directory. Looks share the lines of cells whose results have not changed."""

    results: Mapping[str, int] = field(default_factory=dict)
    """Time at which the result of each cell that is done was written, by the cell's key."""
    lines: Mapping[str, CellLine] = field(default_factory=dict)
    kept: Mapping[str, Path] = field(default_factory=dict)
    """The latest run directory of each cell that keeps one."""


class CampaignPages:
    """The pages of one campaign. They show its directory as it was read last, so that no request waits for reading."""

    def __init__(self, directory: CampaignDirectory) -> None:
        self.versions = Versions()
        self._directory = directory
        self._seen = self._look(_Seen())

    def follow(self, over: threading.Event) -> None:
        """Looks at the directory until the campaign is over, and then once more."""
        while not over.wait(LOOK_EVERY):
            seen = self._look(self._seen)
            if seen != self._seen:
                self._tell(seen, over=False)
        self._tell(self._look(self._seen), over=True)

    def answer(self, path: str, since: int, query: str) -> Answer | None:
        """The matrix, or the replay of a cell's run."""
        if path == "/":
            return Answer(HTML, self._matrix(query).encode())
        run = self._seen.kept.get(path.removeprefix(_REPLAY)) if path.startswith(_REPLAY) else None
        return None if run is None else Answer(HTML, replay_page(replay_of(run)).encode())

    def news(self, since: int) -> bytes:
        """A word, at which a page asks for the whole matrix."""
        return b'"changed"'

    def _matrix(self, query: str) -> str:
        versions, seen = self.versions, self._seen
        events = "" if versions.over else f"/events?{query}&since={versions.now}"
        replays = {key: f"{_REPLAY}{key}?{query}" for key in seen.kept}
        return render(self._directory.summary_of(seen.lines.get), self._directory.path, Following(events, replays))

    def _tell(self, seen: _Seen, *, over: bool) -> None:
        with self.versions.changed:
            self._seen = seen
            self.versions.next(self.versions.now + 1, over=over)

    def _look(self, before: _Seen) -> _Seen:
        cells = self._directory.cells
        results, lines = dict[str, int](), dict[str, CellLine]()
        for file in sorted(cells.glob("*/result.json")):
            key = file.parent.name
            try:
                written = file.stat().st_mtime_ns
            except OSError:  # replaced just now
                continue
            line = before.lines.get(key) if before.results.get(key) == written else self._directory.line(key)
            if line is not None:
                results[key], lines[key] = written, line
        kept = {run.parent.parent.name: run for run in sorted(cells.glob(f"*/{RUNS}/*"))}
        return _Seen(results, lines, kept)


def main(directory: Path) -> None:
    try:
        serve_while_it_goes_on(CampaignPages(CampaignDirectory(directory)))
    except UserError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
