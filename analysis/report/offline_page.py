"""The base of all pages of brokerlab, each of which is one HTML file that opens without a network."""

from __future__ import annotations

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined, select_autoescape
from markupsafe import Markup
from plotly.offline import get_plotlyjs

_COMMON = "analysis.report"
"""The package whose templates other pages use, too."""


def page_templates(*packages: str) -> Environment:
    """The templates of these packages, before those that all pages have. The variable `plotly` is Plotly's library."""
    environment = Environment(
        loader=ChoiceLoader([PackageLoader(package) for package in (*packages, _COMMON)]),
        autoescape=select_autoescape(default=True),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    library = get_plotlyjs().replace("</script", "<\\/script")
    environment.globals["plotly"] = Markup(library)  # noqa: S704 - the library's own text
    return environment
