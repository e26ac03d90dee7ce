"""The page of a run, in one file. A server adds frames while the run goes on; the page of a finished run has all.

The report has the same as one of its parts: `replay.html.j2`, with `Content`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import msgspec
from jinja2 import Environment, PackageLoader, Template, select_autoescape
from markupsafe import Markup

from analysis.live.frames import State
from analysis.script_data import compressed, in_script


@dataclass(frozen=True)
class Content:
    """A state as an element of the page holds it."""

    content_type: str
    text: Markup


def plain(state: State) -> Content:
    """The content of a page that gets more from its server."""
    return Content("application/json", in_script(msgspec.json.encode(state).decode()))


def packed(state: State) -> Content:
    """The content of a file, compressed. Equal states have equal contents."""
    return Content("application/gzip", compressed(msgspec.json.encode(state)))


def live_page(state: State) -> str:
    """The page that begins with a state, and asks its server for what comes after it."""
    return _page(state, "live", plain(state))


def replay_page(state: State) -> str:
    """The page of a finished run, which needs neither server nor network."""
    return _page(state, "replay", packed(state))


def _page(state: State, feed: str, content: Content) -> str:
    return _template().render(run=state.run, scenario=state.scenario, feed=feed, state=content)


@cache
def _template() -> Template:
    """The page's template, which a process compiles once."""
    environment = Environment(loader=PackageLoader("analysis.live"), autoescape=select_autoescape(["html", "j2"]))
    return environment.get_template("page.html.j2")
