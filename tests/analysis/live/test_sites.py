"""Sites on the map: their state by the second follows from the log, and pages show it at any width."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree.ElementTree import Element

import pytest
from playwright.async_api import Browser

from analysis.live.frames import ShownSite, ShownVariant
from analysis.live.page import replay_page
from analysis.live.tally import VariantTally
from analysis.report.figures.sites import MOST_OF_A_BROKER, SeenSite, draw_sites, seen_sites
from analysis.report.replayed import replay_of
from emulation.planning.plan import make_plan
from emulation.simulation.run import simulate
from record.log import Event, TraceRecord
from record.time_units import SECOND
from scenario.loading import load_text
from tests.analysis.live.test_page import READY
from tests.browser import opened
from topology.link_properties import Link, LinkProperties
from topology.model import Broker, Overlay
from topology.sites import Site

SCENARIO = """
name: seen
topology: {kind: line, brokers: 2, link: {delay: 4ms}}
routing: {protocol: tid}
brokers: {limits: {session_queue: 10}}
workload:
  publications: {source: stocks, publishers: 2, rate: 60/s, placement: [B1]}
  subscriptions: {subscribers: 6, selectivity: 60%, placement: [B2]}
clients:
  sites:
    market: {broker: B1, delay: 15ms}
    berlin: {broker: B2, clients: [S1, S2], delay: 5ms, jitter: 1ms, to_clients: {delay: 25ms, bandwidth: 10mbit}}
    oslo: {broker: B2, clients: [S3], delay: 10ms, loss: 0.5%, reads: 2/s}
    rome: {broker: B2, delay: 10ms}
faults:
  - {at: 2s, crash: S1, for: 1s}
  - {at: 4s, link_down: rome-B2, for: 1s}
  - {at: 6s, vanish: berlin, for: 1s}
  - {at: 8s, move: rome, to: B1, away: 500ms}
  - {at: 9s, move: S2, to: market}
timeline: {join: 2s, run: 8s, drain: 2s}
seed: 4
"""


TWO_BROKERS = Overlay("two", (Broker("B1"), Broker("B2")), (Link("B1", "B2", LinkProperties(0.004)),))


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    plan = make_plan(load_text(SCENARIO, "seen"))
    return simulate(plan, tmp_path_factory.mktemp("runs")).directory


@pytest.fixture(scope="module")
def variant(run: Path) -> ShownVariant:
    (found,) = replay_of(run).variants
    return found


def test_sites_have_their_clients_and_their_access_links_in_words(variant: ShownVariant) -> None:
    assert variant.overlay
    assert variant.overlay.sites == [
        ShownSite("market", 0, 2, "15 ms", 0.0),
        ShownSite("berlin", 1, 2, "5 ms ± 1; to clients 25 ms, 10 Mbit/s", 0.0),
        ShownSite("oslo", 1, 1, "10 ms, 0.5% loss", 2.0),
        ShownSite("rome", 1, 3, "10 ms", 0.0),
    ]


def test_faults_of_clients_and_of_access_links_are_at_their_site(variant: ShownVariant) -> None:
    struck = [(strike.kind, strike.place, strike.site) for frame in variant.frames for strike in frame.strikes]
    assert ("crash", "S1", 1) in struck
    assert ("return", "S1", 1) in struck
    assert ("link_down", "rome-B2", 3) in struck
    assert ("vanish", "berlin", 1) in struck


def test_a_slow_reader_leaves_unread_what_its_broker_passed_on_and_it_neither_read_nor_lost(
    run: Path, variant: ShownVariant
) -> None:
    passed = (run / "logs" / "B2.jsonl").read_text().splitlines()
    of_reader = [line for line in passed if '"client":"S3"' in line]
    delivered, dropped = (sum(f'"event":"{event}"' in line for line in of_reader) for event in ("delivered", "dropped"))
    read = sum(
        '"event":"notified"' in line and '"client":"S3"' in line
        for line in (run / "logs" / "subscribers.jsonl").read_text().splitlines()
    )
    market, berlin, oslo, rome = seen_sites(variant)
    assert dropped > 0
    assert (oslo.unread, oslo.dropped) == (delivered - read - dropped, dropped)
    assert "notifications left unread" in oslo.in_words
    assert "struck by crash, vanish" in berlin.in_words
    assert [seen.unread for seen in (market, berlin, rome)] == [0, 0, 0]
    assert market.in_words == "market: 2 clients\naccess link 15 ms\nby moves, 1 came and 0 left"
    assert "by moves, 0 came and 1 left" in berlin.in_words


def test_a_site_that_moves_is_drawn_where_it_arrived(variant: ShownVariant) -> None:
    *_, rome = seen_sites(variant)
    assert rome.stays == ["B2", "B1"]
    assert rome.in_words.startswith("rome: 3 clients\naccess link 10 ms\nat B2, then B1\nstruck by link down, move")
    svg = Element("svg")
    draw_sites(svg, [rome], TWO_BROKERS, {"B1": (100, 50), "B2": (500, 50)}, 13.0)
    (square,) = svg.iter("rect")
    assert float(square.get("x", "")) < 200


def test_faults_of_the_new_access_link_are_at_the_site_and_clients_change_no_broker(tmp_path: Path) -> None:
    berlin, oslo = (Site(name, "B1", (name[0],), LinkProperties(), LinkProperties()) for name in ("berlin", "oslo"))
    tally = VariantTally("base", TWO_BROKERS, {}, 1.0, 1, sites=[berlin, oslo])
    made = [
        (Event.FAULT, "move", "b", "oslo"), (Event.HEALED, "arrive", "b", "oslo"),
        (Event.FAULT, "move", "oslo", "B2"), (Event.FAULT, "link_down", "oslo-B2", None),
        (Event.HEALED, "arrive", "oslo", "B2"),
    ]  # fmt: skip
    for second, (event, kind, place, goal) in enumerate(made):
        tally.add(TraceRecord(second * SECOND, "emulator", "base", event, peer=place, text=kind, to=goal))
    strikes = [strike for frame in tally.shown(0).frames for strike in frame.strikes]
    assert [(strike.site, strike.to) for strike in strikes] == [(0, -1), (0, -1), (1, -1), (1, -1), (1, 1)]


def test_a_client_counts_at_the_site_that_it_is_on(run: Path) -> None:
    (shown,) = replay_of(run).variants
    logged = (json.loads(line) for line in (run / "logs" / "subscribers.jsonl").read_text().splitlines())
    publications = [record["time"] for record in logged if record["event"] == "notified" and record["client"] == "S2"]
    (arrival,) = [strike for frame in shown.frames for strike in frame.strikes if strike.joins >= 0]
    assert (arrival.place, arrival.site, arrival.joins) == ("S2", 1, 0)
    assert [time for time in publications if time > arrival.at * SECOND], "nothing came at the new site"
    delivered = [
        json.loads(line)
        for broker in ("B1", "B2")
        for line in (run / "logs" / f"{broker}.jsonl").read_text().splitlines()
        if '"event":"delivered"' in line
    ]
    of_both = [record["node"] for record in delivered if record["client"] in ("S1", "S2")]
    of_berlin = [second.to_clients for frame in shown.frames for second in frame.sites if second.site == 1]
    assert sum(of_berlin) == of_both.count("B2") < len(of_both)


@pytest.mark.asyncio(loop_scope="session")
async def test_a_page_shows_each_site_or_their_number_where_there_is_no_room(
    run: Path, browser: Browser, tmp_path: Path
) -> None:
    file = tmp_path / "page.html"
    file.write_text(replay_page(replay_of(run)).replace("root.dataset.ready", f"{_LOOKED_AT} root.dataset.ready"))
    async with opened(browser, file.as_uri()) as seen:
        await seen.until(READY)
        text = await seen.page.inner_text("body")
        looked = json.loads(await seen.value("return document.body.dataset.looked;"))
        await seen.is_whole()
    wide, narrow, crashed, cut, there, clients = looked
    assert sorted(wide) == [[0], [1], [2], [3]]
    assert narrow == [[0], [1, 2, 3]]
    assert (crashed, cut) == (1, "cut")
    assert there == [[1, "move"], [0, ""], [1, ""]]
    assert clients == [[2, 2], [3, 1]]
    assert "oslo at B2 (1 client, each reading 2 a second; access link 10 ms, 0.5% loss):" in text


_LOOKED_AT = """
replay.go(replay.variant.zero + 0.5);
const seen = replay.variant, marks = (time, width, height) =>
  siteMarks(seen, spots(seen, time, width, height), seen.at(time), width, height, 11);
const state = (place, after) => siteState(seen, seen.at(seen.zero + after), { sites: [place] });
const looked = [marks(seen.zero, 700, 500), marks(seen.zero, 90, 90)].map(all => all.map(mark => mark.sites));
looked.push(state(1, 0.5).clients, state(3, 2.5).access);
looked.push([6.2, 7, 2].map(after => [brokerOf(seen, 3, seen.at(seen.zero + after)), state(3, after).down]));
looked.push([6, 7.9].map(after => [0, 1].map(site => clientsOf(seen, site, seen.at(seen.zero + after)))));
replay.chosen = { sites: [2], broker: 1 };
replay.draw();
document.body.dataset.looked = JSON.stringify(looked);
"""


@pytest.mark.parametrize(("count", "squares"), [(MOST_OF_A_BROKER, MOST_OF_A_BROKER), (MOST_OF_A_BROKER + 1, 1)])
def test_a_drawing_has_one_square_for_the_sites_of_a_crowded_broker(count: int, squares: int) -> None:
    svg = Element("svg")
    sites = [SeenSite(ShownSite(f"site{n}", 0, 1, "5 ms", 2.0), ["B1"], {}, 3, 0) for n in range(count)]
    draw_sites(svg, sites, Overlay("one", (Broker("B1"),), ()), {"B1": (200.0, 160.0)}, 13.0)
    drawn = [*svg.iter("rect")]
    assert len(drawn) == squares
    numbers = [text.text for text in svg.iter("text") if text.text and text.text.isdigit()]
    assert numbers == ([] if squares > 1 else [f"{count}"])
