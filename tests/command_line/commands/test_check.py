"""`brokerlab check`: what it prints, and how it ends."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from command_line.commands import check
from command_line.commands.check import CheckRequest, check_scenario
from emulation.host.room import Host
from record.errors import UserError
from record.exit_codes import ExitCode

SMOKE = Path("scenarios/smoke.yaml")


HEAVY = {"workload.publications.rate": "700/s", "timeline.run": "2s"}


def checked(overrides: Mapping[str, str] | None = None, processors: int = 2, scenario: Path = SMOKE) -> ExitCode:
    return check_scenario(CheckRequest(scenario, overrides or {}, None, processors))


def test_a_run_that_the_host_carries(capsys: pytest.CaptureFixture[str]) -> None:
    assert checked() is ExitCode.CORRECT
    lines = capsys.readouterr().out.splitlines()
    assert lines[:4] == [
        "scenario smoke: valid; 1 variant: base",
        "overlay  5 brokers, 5 links, 15 clients",
        "workload 400 publications in 8 s",
        "rehearsing the load in virtual time",
    ]
    assert any(line.strip().startswith("processors") and "% busy" in line for line in lines)
    assert lines[-1] == "carried  as it is, with nothing else on the host"


def test_an_overlay_of_one_link(capsys: pytest.CaptureFixture[str]) -> None:
    checked({"topology": "{kind: line, brokers: 2}"})
    assert "2 brokers, 1 link, " in capsys.readouterr().out


@pytest.mark.proof
def test_one_that_it_does_not_carry_names_the_dilation(capsys: pytest.CaptureFixture[str]) -> None:
    assert checked(HEAVY) is ExitCode.CORRECT
    out = capsys.readouterr().out
    assert "--set time_dilation=" in out and "for all variants" in out
    assert "grows as long as the load lasts" in out


@pytest.mark.proof
def test_more_processors_carry_more(capsys: pytest.CaptureFixture[str]) -> None:
    checked(HEAVY, processors=64)
    assert "carried  as it is" in capsys.readouterr().out


def test_a_run_that_would_be_refused_is_refused(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(check, "this_host", lambda: Host(2, 100_000_000))
    assert checked() is ExitCode.HOST
    assert "refused  5 brokers take about 0.5 GB of memory, and this host has 0.1 GB left" in capsys.readouterr().out


PROGRAM = "{sites: {berlin: {broker: B1, clients: [W1]}}, programs: {W1: {command: [/no/program]}}}"


@pytest.mark.parametrize(
    ("overrides", "refused"),
    [
        ({"clients": PROGRAM}, "clients.programs.W1.command: the program /no/program is not on this host"),
        (
            {"brokers": "{command: [/no/broker], level: 1}", "routing": "{protocol: foreign}"},
            "brokers.command: the program /no/broker is not on this host",
        ),
    ],
)
def test_a_part_that_is_not_here_is_named(
    overrides: Mapping[str, str], refused: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert checked(overrides) is ExitCode.HOST
    assert capsys.readouterr().out.endswith(f"refused  {refused}\n")


def test_a_mistake_names_file_and_field(tmp_path: Path) -> None:
    file = tmp_path / "wrong.yaml"
    file.write_text(SMOKE.read_text().replace("rate: 10/s", "rate: often"))
    with pytest.raises(UserError, match=r"wrong\.yaml:\d+: workload\.publications\.rate"):
        checked(scenario=file)
