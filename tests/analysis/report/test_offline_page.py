"""The library of plots in the pages is that of the Plotly that makes the figures."""

from __future__ import annotations

import base64
import gzip

import plotly.graph_objects as go
from plotly.offline import get_plotlyjs_version

from analysis.report.embedding import embedded
from analysis.report.offline_page import packed_library, page_templates

LARGEST = 700_000
"""Bytes of the library in a page."""


def test_the_library_is_of_the_pinned_version_and_small() -> None:
    """`npm pack` of the same version renews it, as CONTRIBUTING says."""
    library = gzip.decompress(packed_library()).decode()
    assert library.splitlines()[1].strip() == f"* plotly.js (cartesian - minified) v{get_plotlyjs_version()}"
    packed = page_templates().globals["plotly"]
    assert base64.b64decode(packed) == packed_library()
    assert len(packed) <= LARGEST


def test_no_text_of_a_figure_ends_its_element() -> None:
    figure = go.Figure().add_scatter(x=[1], y=[2], name="</script><b>")
    html = embedded(figure, "a'b")
    assert html.count("</script>") == 1
    assert "\\u003cb\\u003e" in html
    assert 'id="a&#39;b"' in html
    assert '"template"' not in html
