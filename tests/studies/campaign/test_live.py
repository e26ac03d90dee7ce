"""The pages of a campaign that goes on: cells that are done, replays of kept runs, and a word when there is more."""

from __future__ import annotations

import io
import shutil
import threading
from pathlib import Path

import pytest
from playwright.async_api import Browser
from rich.console import Console
from typer.testing import CliRunner

from analysis.live.serving import Answer
from command_line.commands.live import LivePage, live_page
from command_line.program import app
from record.errors import BadInputError
from studies.campaign.directory import CampaignDirectory
from studies.campaign.live import CampaignPages
from studies.campaign.matrix import CellLine
from tests.browser import opened
from tests.studies.campaign.made_up import CAMPAIGN, write_campaign

QUERY = "token=t"
BRIEF = CAMPAIGN.replace("1..2", "[1]").replace("[fixed, dynamic]", "[fixed]")


@pytest.fixture(scope="module")
def campaign(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A campaign of two cells, of which one is done, whose run is kept."""
    directory = tmp_path_factory.mktemp("campaign")
    asked = ["campaign", str(write_campaign(directory, BRIEF)), "--out", str(directory / "out"), "--jobs", "1"]
    done = CliRunner().invoke(app, [*asked, "--cell", "fixed+kill-1", "--keep-runs", "all", "--live"])
    assert done.exit_code == 0, done.output
    assert "live     http://127.0.0.1:" in done.output
    return directory / "out"


def page(pages: CampaignPages, path: str) -> str:
    answer = pages.answer(path, 0, QUERY)
    assert isinstance(answer, Answer)
    return answer.body.decode()


def test_cells_that_are_done_open_their_replay(campaign: Path) -> None:
    pages = CampaignPages(CampaignDirectory(campaign))
    matrix = page(pages, "/")
    assert "1 cell is still to be run" in matrix
    assert f'<a href="/replay/fixed+kill-1?{QUERY}">fixed+kill-1</a>' in matrix
    assert "new EventSource(" in matrix
    assert 'data-feed="replay"' in page(pages, "/replay/fixed+kill-1")
    assert pages.answer("/replay/fixed+none-1", 0, QUERY) is None
    assert pages.answer("/replay/..", 0, QUERY) is None
    assert "new EventSource(" not in (campaign / "report" / "index.html").read_text()


def test_a_cell_that_is_done_meanwhile_is_told_and_the_end_is_too(campaign: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    shutil.copytree(campaign, out)
    result = out / "cells" / "fixed+kill-1" / "result.json"
    kept = result.read_bytes()
    result.unlink()
    pages, over = CampaignPages(CampaignDirectory(out)), threading.Event()
    following = threading.Thread(target=pages.follow, args=(over,))
    following.start()
    versions = pages.versions.stream(pages, 0)
    first, _ = next(versions)
    assert "2 cells are still to be run" in page(pages, "/")
    result.write_bytes(kept)
    second, news = next(versions)
    assert (second > first, news) == (True, b'"changed"')
    assert "1 cell is still to be run" in page(pages, "/")
    over.set()
    *_, (last, _) = versions
    following.join()
    assert last > second
    assert "new EventSource(" not in page(pages, "/")


def test_a_directory_without_a_campaign_has_no_page(tmp_path: Path) -> None:
    with pytest.raises(BadInputError, match="no campaign was begun here"):
        CampaignPages(CampaignDirectory(tmp_path)).answer("/", 0, QUERY)


def test_a_cell_whose_result_is_as_before_is_not_read_again(campaign: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []
    line = CampaignDirectory.line

    def counted(directory: CampaignDirectory, key: str) -> CellLine | None:
        read.append(key)
        return line(directory, key)

    monkeypatch.setattr(CampaignDirectory, "line", counted)
    pages, over = CampaignPages(CampaignDirectory(campaign)), threading.Event()
    over.set()
    pages.follow(over)
    assert [page(pages, "/") for _ in range(2)]
    assert read == ["fixed+kill-1"]


@pytest.mark.asyncio(loop_scope="session")
async def test_the_matrix_and_a_replay_are_whole_in_a_browser_and_ask_for_nothing_else(
    campaign: Path, browser: Browser
) -> None:
    printed = io.StringIO()
    with live_page(LivePage.CAMPAIGN, campaign, Console(file=printed)):
        address = printed.getvalue().split()[1]
        async with opened(browser, address) as seen:
            await seen.is_whole()
            await seen.page.click("text=fixed+kill-1")
            await seen.until(".replay[data-ready]")
            await seen.is_whole()
    root = address.partition("?")[0]
    assert root.startswith("http://127.0.0.1:")
    assert [asked for asked in seen.requests if not asked.startswith(root)] == []
    assert {asked.removeprefix(root).partition("?")[0] for asked in seen.requests} == {
        "",
        "events",
        "replay/fixed+kill-1",
    }
    assert seen.errors == []
