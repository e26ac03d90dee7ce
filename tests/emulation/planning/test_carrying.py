"""Runs that a host does not carry are refused before anything of them starts."""

from __future__ import annotations

import sys
from io import StringIO
from pathlib import Path
from unittest import mock

import pytest
from rich.console import Console

from emulation.host.room import Host
from emulation.network.model import LinkDriver
from emulation.planning import carrying
from emulation.planning.carrying import MOST_CHANGES_A_SECOND, memory_of, require_carried
from emulation.run import emulate
from emulation.runtimes.ladder import Rungs
from record.errors import HostError
from record.manifest import RungChoice
from tests.emulation.moving import RING, blinking, planned

ROOMY = Host(2, 1 << 40)


def test_motion_above_the_rate_that_a_host_bears_is_refused(tmp_path: Path) -> None:
    require_carried(planned(tmp_path, RING, blinking(100)).variants, LinkDriver.USERSPACE, ROOMY)
    with pytest.raises(HostError) as raised:
        require_carried(planned(tmp_path, RING, blinking(200)).variants, LinkDriver.USERSPACE, ROOMY)
    assert str(raised.value) == (
        "motion: 200 changes of links within 1 s, from 3 s after the start of the join phase on; brokers on a host "
        "bear 100 within a second: use --runtime simulated, fewer changes, or a time_dilation of 2"
    )


def test_a_time_dilation_lowers_the_rate(tmp_path: Path) -> None:
    require_carried(planned(tmp_path, RING, blinking(200), "time_dilation: 2").variants, LinkDriver.USERSPACE, ROOMY)
    with pytest.raises(HostError, match=r"bear 100 within a second: .* a time_dilation of 4$"):
        require_carried(
            planned(tmp_path, RING, blinking(400), "time_dilation: 2").variants, LinkDriver.USERSPACE, ROOMY
        )


def test_only_the_relay_lets_links_vanish(tmp_path: Path) -> None:
    with pytest.raises(
        HostError, match=r"^motion: links of the driver netem do not appear and vanish; use --links use"
    ):
        require_carried(planned(tmp_path).variants, LinkDriver.NETEM, ROOMY)


def test_too_many_paths_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(carrying, "MOST_PATHS", 100)
    with pytest.raises(HostError, match=r"^motion: \d+ pairs of brokers are linked at some time; 100 is the most"):
        require_carried(planned(tmp_path).variants, LinkDriver.USERSPACE, ROOMY)


def test_the_rate_is_the_documented_one() -> None:
    assert MOST_CHANGES_A_SECOND == 100, "stated in docs/topologies.md"


def test_brokers_that_the_memory_does_not_hold_are_refused(tmp_path: Path) -> None:
    (variant,) = planned(tmp_path).variants
    require_carried([variant], LinkDriver.USERSPACE, Host(2, memory_of(20)))
    with pytest.raises(HostError, match=r"^20 brokers take about 1\.0 GB .*has 1\.0 GB left, enough for 19: use"):
        require_carried([variant], LinkDriver.USERSPACE, Host(2, memory_of(20) - 1))


def test_a_run_is_refused_before_its_directory_is_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules[emulate.__module__], "this_host", lambda: Host(2, 0))
    rungs = Rungs(RungChoice("process", "asked for"), RungChoice("userspace", "asked for"), None)
    with pytest.raises(HostError, match="enough for 0"):
        emulate(planned(tmp_path), rungs, tmp_path / "runs", Console(file=StringIO()), mock.Mock())
    assert not (tmp_path / "runs").exists()
