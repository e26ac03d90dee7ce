"""The sentence on what was kept under faults is true of brokers, links and clients, and of moves."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from analysis.engines import PlainEngine
from analysis.pipeline import analyze
from analysis.report.sentences.kept import kept_in_words
from analysis.run_files.run_directory import read_manifest
from record.handover import Handover, MoveCost, PlannedMoves
from record.manifest import MODELLED
from record.promises import Order, Promises
from tests.analysis.history import joined, write_run
from tests.analysis.report.figures.test_faults import fault

NAMES = ["S1", "S2", "S3", "S4"]
MOVES = PlannedMoves(
    old_session_ends_within=10.0, costs={Handover.MAKE_BEFORE_BREAK: MoveCost(doubles=True, reorders=True)}
)


def kept(
    directory: Path, *faults: tuple[str, list[str]], order: Order = Order.PUBLISHER, sites: bool = True, **found: Any
) -> str | None:
    """The sentence on a run with these faults and findings."""
    calm = joined("base", promises=Promises(order=order)).publish().notify(at=110.1)
    run = write_run(directory, [calm], "VALID", links=MODELLED)
    summary, manifest = analyze(run, PlainEngine()), read_manifest(run)
    (variant,), (record,) = summary.variants, manifest.variants
    replace = msgspec.structs.replace
    struck = [fault(kind=kind, what=what) for kind, what in faults]
    variant = replace(variant, faults=struck, delivery=replace(variant.delivery, **found))
    record = replace(record, moves=MOVES, sites="sites.json") if sites else record
    manifest = replace(manifest, variants=[record])
    return kept_in_words(replace(summary, variants=[variant]), manifest)


@pytest.mark.parametrize(
    ("kind", "what", "words"),
    [
        ("move", ["berlin", "S1"], "berlin and S1 moved"),
        ("move", NAMES, "4 sites and clients moved"),
        ("crash", ["S1"], "S1 crashed"),
        ("pause", ["S1"], "S1 was paused"),
        ("pause", NAMES, "4 brokers, sites and clients were paused"),
        ("kill", ["B1"], "Broker B1 was killed"),
        ("degrade", NAMES, "Faults struck 4 brokers, links, sites and clients"),
    ],
)
def test_who_was_struck_is_called_what_it_is(tmp_path: Path, kind: str, what: list[str], words: str) -> None:
    sentence = kept(tmp_path, (kind, what))
    assert sentence == f"{words}; 0 of 1 notification that had to come were lost, none doubled, none out of order."


def test_without_sites_brokers_and_links_alone_can_fail(tmp_path: Path) -> None:
    sentence = kept(tmp_path, ("degrade", NAMES), ("pause", ["B1"]), sites=False)
    assert sentence is not None
    assert sentence.startswith("Broker B1 was paused, faults struck 4 brokers and links; ")


def test_what_moves_double_and_reorder_is_no_lie(tmp_path: Path) -> None:
    moved = "S1 moved; 0 of 1 notification that had to come were lost, none doubled"
    doubled = f"{moved} but 50, as the terms of moves allow"
    move = "move", ["S1"]
    assert kept(tmp_path / "doubled", move, doubled=50) == f"{doubled}, none out of order."
    assert kept(tmp_path / "both", move, doubled=50, overtaken=3) == (
        f"{doubled}, none out of order but where the terms of moves allow it."
    )
    assert kept(tmp_path / "none", move, order=Order.NONE, overtaken=3) == f"{moved}."
