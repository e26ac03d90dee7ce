"""The base of all pages of brokerlab, each of which is one HTML file that opens without a network.

Plots are drawn by the part of Plotly's library for plots with two axes, as Plotly publishes it. A page holds it
compressed, and unpacks it when it is opened (`templates/plots.js`): half a megabyte instead of five.
"""

from __future__ import annotations

import base64
from functools import cache
from importlib import resources

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined, select_autoescape
from markupsafe import Markup

from analysis.report.embedding import plot_template
from record.wording import count_of

_COMMON, _REPLAY = "analysis.report", "analysis.live"
"""The packages whose templates other pages use, too."""
LIBRARY = "plotly-cartesian.min.js.gz"
"""The library in the folder `library` of that package."""


@cache
def page_templates(*packages: str) -> Environment:
    """The templates of these packages, before those that all pages have. The variable `plotly` is the library, packed;
    the template `plots.html.j2` includes it and all that plots need. A process compiles them once for all its pages."""
    environment = Environment(
        loader=ChoiceLoader([PackageLoader(package) for package in (*packages, _COMMON, _REPLAY)]),
        autoescape=select_autoescape(default=True),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["count_of"] = count_of
    environment.globals["plot_template"] = plot_template()
    environment.globals["plotly"] = Markup(base64.b64encode(packed_library()).decode())  # noqa: S704 - letters, digits
    return environment


def packed_library() -> bytes:
    """Plotly's library, compressed by gzip."""
    return (resources.files(_COMMON) / "library" / LIBRARY).read_bytes()
