"""Anchors of a page's sections are one each."""

from __future__ import annotations

from analysis.report.contents import Contents, Entry


def test_sections_are_kept_in_order_each_with_an_anchor_of_its_own() -> None:
    contents = Contents()
    titles = ("Delay over time", "What went wrong: a+b", "What went wrong: a b", "Verzögerung", "–", "–")
    anchors = [contents.add(title) for title in titles]
    assert anchors == [
        "delay-over-time",
        "what-went-wrong-a-b",
        "what-went-wrong-a-b-2",
        "verz-gerung",
        "section",
        "section-2",
    ]
    assert contents.entries == [Entry(title, anchor) for title, anchor in zip(titles, anchors, strict=True)]
