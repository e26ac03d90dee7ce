"""The page of a run, in one file. A server adds frames while the run goes on; the page of a finished run has all."""

from __future__ import annotations

from pathlib import Path

import msgspec
from jinja2 import Environment, PackageLoader, select_autoescape
from markupsafe import Markup

from analysis.live.frames import State
from analysis.script_data import in_script

TEMPLATES = Path(__file__).parent / "templates"


def live_page(state: State) -> str:
    """The page that begins with a state, and asks its server for what comes after it."""
    return _page(state, "live")


def replay_page(state: State) -> str:
    """The page of a finished run, which needs neither server nor network."""
    return _page(state, "replay")


def _page(state: State, feed: str) -> str:
    environment = Environment(loader=PackageLoader("analysis.live"), autoescape=select_autoescape(["html", "j2"]))
    return environment.get_template("live.html.j2").render(
        run=state.run,
        scenario=state.scenario,
        feed=feed,
        style=Markup((TEMPLATES / "live.css").read_text()),  # noqa: S704 - files of this package
        script=Markup((TEMPLATES / "live.js").read_text()),  # noqa: S704
        state=in_script(msgspec.json.encode(state).decode()),
    )
