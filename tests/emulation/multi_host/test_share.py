from __future__ import annotations

import tarfile
from pathlib import Path

import pytest

from emulation.multi_host.share import begin, end, main
from emulation.multi_host.signals import FINISHED, SIGNALS, AgentError, await_signal
from record.exit_codes import ExitCode

LONG = 60.0


def test_a_share_begins_and_ends(tmp_path: Path) -> None:
    share = tmp_path / "1.1"
    begin(share, b'{"host": 1}')
    assert (share / "share.json").stat().st_mode & 0o077 == 0
    with pytest.raises(AgentError, match=r"share\.json: Expected `str`, got `int`") as caught:
        await_signal(share / SIGNALS, FINISHED, LONG)
    assert caught.value.exit_code == ExitCode.BAD_INPUT

    packed = end(share, LONG)
    assert packed == tmp_path / "1.1.tar.gz"
    with tarfile.open(packed) as archive:
        names = archive.getnames()
    assert f"./{SIGNALS}/failed.json" in names
    assert "./share.json" not in names
    assert not share.exists()
    assert end(share, LONG) is None


def test_other_commands_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["wave"]) == ExitCode.BAD_INPUT
    assert "python -m emulation.multi_host.share begin" in capsys.readouterr().err
