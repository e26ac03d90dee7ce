"""The server of a run's page, which reads its logs and asks no node anything (`analysis.live.serving`).

python -m analysis.live.server RUN_DIRECTORY
"""

from __future__ import annotations

import sys
import threading
from pathlib import Path

import msgspec

from analysis.live.follower import Follower
from analysis.live.page import live_page
from analysis.live.serving import HTML, JSON, Answer, Versions, serve_while_it_goes_on

LOOK_EVERY = 0.5
"""Seconds between two looks at the logs."""


class RunPages:
    """The page of one run, from a follower that several browsers may ask."""

    def __init__(self, follower: Follower) -> None:
        self.versions = Versions()
        self._follower = follower

    def follow(self, over: threading.Event) -> None:
        """Looks at the logs until the run is over, and then once more."""
        versions = self.versions
        while not over.wait(LOOK_EVERY):
            with versions.changed:
                self._follower.look()
                versions.next(self._follower.version)
        with versions.changed:
            self._follower.finish()
            versions.next(self._follower.version, over=True)

    def answer(self, path: str, since: int, query: str) -> Answer | None:
        """The page, or the state after a version."""
        if path == "/":
            return Answer(HTML, live_page(self._follower.state()).encode())
        return Answer(JSON, self.news(since)) if path == "/state" else None

    def news(self, since: int) -> bytes:
        """The state as far as it has changed after a version."""
        return msgspec.json.encode(self._follower.state(since))


if __name__ == "__main__":
    serve_while_it_goes_on(RunPages(Follower(Path(sys.argv[1]))))
