"""A campaign's file: its fields, and the messages about mistakes in it."""

from __future__ import annotations

from pathlib import Path

import pytest

from record.errors import BadInputError
from studies.campaign import cells, load_campaign
from tests.studies.campaign.made_up import CAMPAIGN, write_campaign


def test_a_campaign_is_read(tmp_path: Path) -> None:
    campaign = load_campaign(write_campaign(tmp_path))
    assert campaign.seeds == (1, 2)
    assert list(campaign.faults) == ["none", "kill"]
    assert campaign.scenario == str(tmp_path / "little.yaml")
    assert campaign.retries == 1


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("seeds: 1..2", "seeds: 2..1", ":6: seeds: 2..1 is not a range of seeds: write 1..20"),
        ("seeds: 1..2", "seeds: [1, 1]", ":6: seeds: a seed appears twice"),
        ("seeds: 1..2", "seed: 1", "unknown field 'seed'; did you mean 'seeds'?"),
        ("runtime: simulated", "runtime: cloud", ":3: runtime: must be 'auto', 'container', 'process' or 'simulated'"),
        ("  routing.publications: [f", "  seed: [f", ":4: factors: seed cannot be set here"),
        ("kill: random, for", "kil: random, for", "unknown field 'kil'"),
        ("  none: []", "  no/thing: []", "'no/thing' is not a name"),
    ],
)
def test_mistakes_in_the_file(tmp_path: Path, old: str, new: str, message: str) -> None:
    assert old in CAMPAIGN
    file = write_campaign(tmp_path, CAMPAIGN.replace(old, new))
    with pytest.raises(BadInputError) as caught:
        load_campaign(file)
    assert str(file) in str(caught.value)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("kill: random, for", "kill: random(9), for", "cell fixed+kill-1: faults="),
        ("routing.publications: [f", "routing.nonsense: [f", "cell fixed+none-1: routing.nonsense="),
        ("little.yaml", "lost.yaml", "lost.yaml: cannot be read"),
    ],
)
def test_what_the_scenario_does_not_take_is_told_of_the_cell(tmp_path: Path, old: str, new: str, message: str) -> None:
    file = write_campaign(tmp_path, CAMPAIGN.replace(old, new))
    with pytest.raises(BadInputError) as caught:
        cells(load_campaign(file), file)
    assert str(caught.value).startswith(f"{file}: ")
    assert message in str(caught.value)
