"""The replay as a part of the report: the page of `brokerlab replay`, with the judge's sentences."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from msgspec.structs import replace

from analysis.live.follower import Follower
from analysis.live.frames import State
from analysis.live.page import Content, packed
from analysis.report.data import ReportData
from analysis.report.sentences.delivery import delivery_sentence
from analysis.tables.summary import Summary, read_summary
from record.files import SUMMARY

LARGEST = 400_000
"""Bytes of the replay in a report, of which the rest takes about a million."""


def replay_in_report(data: ReportData) -> Content | None:
    """The replay of all variants of a report; None where it would be too large, and where logs were."""
    if not data.replayed:
        return None
    variants = [replace(variant, name=name) for name, variant in data.replayed.items()]
    state = State(run=data.run.run_id, scenario="", version=0, over=True, variants=variants)
    content = packed(judged(state, data.summary))
    return content if len(content.text) <= LARGEST else None


def replay_of(run: Path) -> State:
    """The state of a finished run. Raises `RunDirectoryError` for a summary that cannot be read."""
    follower = Follower(run)
    follower.finish()
    state = follower.state()
    return judged(state, read_summary(run)) if (run / SUMMARY).exists() else state


def judged(state: State, summary: Summary) -> State:
    """A state with the judge's sentence on each variant."""
    sentences: Mapping[str, str] = {found.name: delivery_sentence(found.delivery) for found in summary.variants}
    variants = [replace(variant, verdict=sentences.get(variant.name, "")) for variant in state.variants]
    return replace(state, variants=variants)
