"""Figures as parts of the page."""

from __future__ import annotations

from typing import Any

import plotly.graph_objects as go
import plotly.io
import plotly.io.json
from markupsafe import Markup

from analysis.script_data import in_script

_DEFAULT_HEIGHT = 450


def embedded(figure: go.Figure, name: str) -> Markup:
    """A figure as a place and its data, from which `templates/plots.js` draws it. `name` is the element's id."""
    height = figure.layout.height or _DEFAULT_HEIGHT
    place = Markup('<div class="plot" id="{}" style="height: {}px"></div>').format(name, height)
    drawn = figure.to_dict()
    drawn["layout"].pop("template", None)
    return place + Markup('<script type="application/json">') + _as_script(drawn) + Markup("</script>")


def plot_template() -> Markup:
    """The settings that all figures begin with. The page has them once, because they are longer than most figures."""
    return _as_script(plotly.io.templates[plotly.io.templates.default])


def _as_script(content: Any) -> Markup:
    """JSON that a script element can hold."""
    return in_script(plotly.io.json.to_json_plotly(content))
