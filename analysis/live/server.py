"""The server of a run's page, which reads its logs and asks no node anything (`analysis.live.serving`).

python -m analysis.live.server RUN_DIRECTORY
"""

from __future__ import annotations

import sys
import threading
from pathlib import Path

import msgspec

from analysis.live.follower import Follower
from analysis.live.frames import State
from analysis.live.page import live_page
from analysis.live.serving import HTML, JSON, Answer, Versions, serve_while_it_goes_on

LOOK_EVERY = 0.5
"""Seconds between two looks at the logs."""


class RunPages:
    """The page of one run, from a follower that several browsers may ask."""

    def __init__(self, follower: Follower) -> None:
        self.versions = Versions()
        self._follower = follower
        self._reading = threading.Lock()
        """Held while the follower reads logs or makes a state."""

    def follow(self, over: threading.Event) -> None:
        """Looks at the logs until the run is over, and then once more."""
        while not over.wait(LOOK_EVERY):
            with self._reading:
                self._follower.look()
            self._tell(over=False)
        with self._reading:
            self._follower.finish()
        self._tell(over=True)

    def answer(self, path: str, since: int, query: str) -> Answer | None:
        """The page, or the state after a version."""
        if path == "/":
            return Answer(HTML, live_page(self._state(0)).encode())
        return Answer(JSON, self.news(since)) if path == "/state" else None

    def news(self, since: int) -> bytes:
        """The state as far as it has changed after a version."""
        return msgspec.json.encode(self._state(since))

    def _state(self, since: int) -> State:
        with self._reading:
            return self._follower.state(since)

    def _tell(self, *, over: bool) -> None:
        with self.versions.changed:
            self.versions.next(self._follower.version, over=over)


if __name__ == "__main__":
    serve_while_it_goes_on(RunPages(Follower(Path(sys.argv[1]))))
