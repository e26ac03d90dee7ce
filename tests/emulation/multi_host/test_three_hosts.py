"""Runs over three hosts that are namespaces of this machine, reached by ssh, with clocks that are far apart."""

from __future__ import annotations

import json
import signal
from collections.abc import Sequence
from pathlib import Path

import msgspec
import pytest
from msgspec import UNSET

from analysis.auditing import processor_counts, unsampled_hosts
from analysis.engines import PlainEngine
from analysis.pipeline import analyze
from analysis.run_files.run_directory import open_run
from analysis.tables.summary import BROKER_DEFECT, Summary, violated
from emulation.multi_host.product import pack
from record import manifest
from record.exit_codes import ExitCode
from record.fidelity import Check, FidelityVerdict
from record.time_units import SECOND
from tests.emulation.multi_host.laboratory import CLOCKS, LabHost, Laboratory, copy_product, left_on
from tests.outside.flooding import SOURCE, written
from tests.waiting import await_true

pytestmark = [pytest.mark.proof, pytest.mark.timeout(400)]

PATIENCE = 200.0
UNHAPPENED = "planned faults that did not happen"
SCENARIO = """
name: six
topology: {kind: line, brokers: 6, link: {delay: 5ms, jitter: 0.5ms, bandwidth: 10mbit}}
routing: {protocol: tid, publications: fixed}
workload:
  publications: {source: stocks, publishers: 4, rate: 5/s}
  subscriptions: {subscribers: 8, selectivity: 30%}
faults: [{at: run+1s, degrade: B2-B3, delay: 8ms, for: 1s}]
timeline: {join: 3s, run: 3s, drain: 4s, withdraw: 10s}
"""
SITES = """
clients:
  sites:
    market: {broker: B1, clients: [P1, S2, S5], delay: 5ms}
    berlin: {broker: B3, clients: [S1, S4], delay: 8ms, jitter: 0.5ms, to_clients: {delay: 12ms}}
    slow: {broker: B6, delay: 3ms, reads: 20/s}
"""
FURTHER_FAULTS = """for: 1s}, {at: run+1s, crash: berlin, for: 1s},
  {at: run+1s, move: market, to: B3, away: 200ms, handover: announced}]"""
SCENARIO_OF_TWO = SCENARIO.replace("brokers: 6", "brokers: 2").replace("B2-B3", "B1-B2").replace("run: 3s", "run: 300s")
"""A scenario on the first two hosts alone, with a run phase that ends only when the run is killed."""
DEFECTIVE_PROTOCOL = """
from broker_service.routing.declaration import Protocol
from broker_service.routing.tid import TidOptions, TidRouter

class DefectiveRouter(TidRouter):
    def unsubscribe(self, *arguments):
        a, b = (1, 2, 3)

PROTOCOL = Protocol(DefectiveRouter, TidOptions)
"""
DEFECT = """
name: defect
topology: {kind: line, brokers: 2}
routing: {protocol: defective}
workload:
  operations:
    - {at: 0s, client: P, broker: B1, id: a, advertise: "[class,eq,'STOCK']"}
    - {at: 1s, client: S, broker: B2, id: s, subscribe: "[class,eq,'STOCK']"}
    - {at: 3s, client: P, broker: B1, id: p1, publish: "[class,'STOCK']"}
    - {at: 4s, client: S, broker: B2, unsubscribe: s}
clients: {sites: {berlin: {broker: B2, clients: [S], delay: 5ms}}}
timeline: {join: 2s, run: 600s, drain: 1s}
"""
SLOWER_LINK = (
    "emulation/network/parts.py",
    "                link.verify()\n",
    """\
                link.verify()
            if (wrong := self.links.get(("berlin", "B2"))) is not None:
                from dataclasses import replace

                asked = wrong.names.link.backward
                wrong.change(1, replace(asked, delay=asked.delay + 0.01))
""",
)
"""A defect of a product, as a file, a text and what is in its place: what B2 sends to Berlin takes 10 ms longer."""
NO_CRASH = "emulation/run/host_sites.py", "        self._drivers.instruct(Leave(clients))\n", ""
"""Another one: clients that are to crash do not."""
OUTSIDE = """
name: outside
topology: {kind: line, brokers: 3}
routing: {protocol: ./flooding.py}
vary: {routing.protocol: [./flooding.py, tid, ./defective.py]}
workload:
  operations:
    - {at: 0s, client: P, broker: B1, id: a, advertise: "[class,eq,'STOCK']"}
    - {at: 1s, client: S, broker: B3, id: s, subscribe: "[class,eq,'STOCK']"}
    - {at: 1s, client: W, broker: B2, id: w, subscribe: "[class,eq,'NOTHING']"}
    - {at: 3s, client: P, broker: B1, id: p1, publish: "[class,'STOCK']"}
clients: {sites: {berlin: {broker: B2, clients: [W], delay: 5ms}}}
faults: [{at: run+0.2s, crash: W, for: 2.5s}]
timeline: {join: 2s, run: 3s, drain: 1s}
"""
DEFECT_SENTENCE = (
    "broker defect: B2 (protocol defective) failed on unsubscribe 's' of client 'S': "
    "ValueError: too many values to unpack (expected 2)"
)


def test_three_hosts_share_a_run_and_their_clocks_are_found_out(laboratory: Laboratory, tmp_path: Path) -> None:
    scenario, out = tmp_path / "six.yaml", tmp_path / "runs"
    scenario.write_text(SCENARIO.replace("for: 1s}]", FURTHER_FAULTS) + SITES)
    code, said = laboratory.control(
        "emulate", scenario, "--hosts", laboratory.inventory, "--no-spark", "--no-report", "--out", out
    )
    assert code in {0, 3}, said  # INVALID where others use this machine
    assert "h1 (192.168.78.1): B1, B2; sites: 1" in said and "2 of 5 cross hosts" in said
    (run,) = (path for path in out.iterdir() if not path.name.startswith("."))

    record = manifest.read(run)
    assert [host.name for host in record.hosts] == [*record.speeds] == ["h1", "h2", "h3"]
    for host, ahead in zip(record.hosts[1:], CLOCKS[1:], strict=True):
        assert len(host.offsets) >= 2
        for sample in host.offsets:
            assert abs(sample.offset + ahead * SECOND) <= sample.error < SECOND
    assert not record.hosts[0].offsets

    (variant,) = json.loads((run / "summary.json").read_bytes())["variants"]
    assert not violated(variant["delivery"]["verdicts"], variant["fidelity"]), variant["delivery"]
    assert variant["delivery"]["delivered"] > 50
    assert 0 < variant["delay"]["budget"]["access_ms"] < variant["delay"]["mean_ms"] < 1000

    fidelity = json.loads((run / "fidelity.json").read_bytes())["variants"][0]
    probed = {(link["a"], link["b"]) for link in fidelity["links"] if link["phase"] == "before"}
    links = [
        ("market", "B1"),
        ("market", "B3"),
        ("berlin", "B3"),
        ("slow", "B6"),
        *((f"B{n}", f"B{n + 1}") for n in range(1, 6)),
    ]
    assert probed == {*links, *((b, a) for a, b in links)}
    (clocks,) = (check for check in fidelity["checks"] if check["name"] == "clocks")
    assert 0 < clocks["value"] < 1000
    faults = [line for log in run.glob("logs/emulator@*.jsonl") for line in log.read_text().splitlines()]
    struck = sorted(json.loads(line)["peer"] for line in faults if '"fault"' in line)
    assert struck == ["B2->B3", "B3->B2", "berlin", "market"]
    clients = [line for log in run.glob("logs/*scribers@h1.jsonl") for line in log.read_text().splitlines()]
    assert any('"peer":"B3"' in line and '"notified"' in line for line in clients), "market is at a broker of h2"
    happened = [check for check in fidelity["checks"] if check["name"].startswith(UNHAPPENED)]
    assert {check["name"]: check["verdict"] for check in happened} == {
        f"{UNHAPPENED} ({host})": FidelityVerdict.VALID for host in ("h1", "h2")
    }

    (of_variant,) = record.variants
    assert of_variant.remaining_state == {}
    settled = [(run / f"hosts/{host}/emulator.log").read_text() for host in ("h1", "h2", "h3")]
    assert all("after clients had left" not in log for log in settled)

    for host in laboratory.hosts:
        assert left_on(host) == []
    assert not list(run.glob("hosts/*/share.tar.gz")) and not (run / "ansible").exists()
    contention_is_known_on_all_hosts_or_one_is_named(run)


def test_what_hosts_carry_is_told_and_a_plan_beyond_it_refused(laboratory: Laboratory, tmp_path: Path) -> None:
    scenario = tmp_path / "six.yaml"
    scenario.write_text(SCENARIO)
    laboratory.write_inventory(h2={"brokerlab_weight": 4})
    try:
        code, said = laboratory.control("hosts", "check", laboratory.inventory, scenario, "--json")
        found = json.loads(said[said.index("{") :])
        assert code == (ExitCode.HOST if found["refused"] else ExitCode.CORRECT), said  # others may use this machine
        assert [(host["name"], host["weight"], host["obstacles"]) for host in found["hosts"]] == [
            ("h1", 1.0, []), ("h2", 4.0, []), ("h3", 1.0, []),
        ]  # fmt: skip
        assert all(host["capacity"]["processors"] > 0 and host["capacity"]["messages"] > 0 for host in found["hosts"])
        assert [(share["host"], share["brokers"]) for share in found["shares"]] == [("h1", 1), ("h2", 4), ("h3", 1)]

        heavy = ("--set", "workload.publications.rate=500/s")
        code, said = laboratory.control("hosts", "check", laboratory.inventory, scenario, *heavy)
        assert code == ExitCode.HOST, said
        assert "refused  base: h2 with 4 brokers needs " in said and "use --set time_dilation=" in said
    finally:
        laboratory.write_inventory()


def test_hosts_run_a_protocol_from_outside(laboratory: Laboratory, tmp_path: Path) -> None:
    """Its defect ends the run in the last variant; what hosts have run before that is kept.

    The product of this run does not let clients crash, which the verdict names.
    """
    home, out, root = tmp_path / "home", tmp_path / "runs", tmp_path / "brokerlab"
    copy_product(pack(), root)
    give_with_defect(laboratory.hosts, root, *NO_CRASH)
    home.mkdir()
    written(home)
    scenario = home / "outside.yaml"
    defective = written(home, "self._published += 1", "self._published += '1'", name="defective.py")
    scenario.write_text(OUTSIDE)
    for host in laboratory.hosts:  # as on other machines, there is nothing at that path
        host.run("mount", "-t", "tmpfs", "tmpfs", str(home))
        assert host.run("ls", "-A", str(home)).stdout == ""
    code, said = laboratory.control(
        "emulate", scenario, "--hosts", laboratory.inventory, "--no-spark", "--no-report", "--out", out, root=root
    )
    assert code == ExitCode.BROKER_DEFECT, said
    assert f"B1 (protocol {defective}) failed on publish 'p1' of client 'P'" in said
    assert f"({defective}:{SOURCE[: SOURCE.index('self._published += 1')].count(chr(10)) + 1}, in publish)" in said
    (run,) = (path for path in out.iterdir() if not path.name.startswith("."))
    variants = json.loads((run / "summary.json").read_bytes())["variants"]
    assert [variant["name"] for variant in variants[:2]] == ["flooding", "tid"]
    assert [variant["delivery"]["delivered"] for variant in variants[:2]] == [1, 1], variants
    for variant in json.loads((run / "fidelity.json").read_bytes())["variants"][:2]:
        (unhappened,) = (check for check in variant["checks"] if check["name"] == f"{UNHAPPENED} (h2)")
        assert unhappened["verdict"] == FidelityVerdict.INVALID and "crash of W" in unhappened["detail"], unhappened
    for host in laboratory.hosts:
        assert left_on(host) == []
        host.run("umount", str(home))


def give_with_defect(hosts: Sequence[LabHost], root: Path, file: str, text: str, instead: str) -> None:
    """Gives hosts the product in `root`, with a text in one of its files replaced."""
    code = (root / file).read_text()
    assert code.count(text) == 1
    (root / file).write_text(code.replace(text, instead))
    defective = pack(root)
    for host in hosts:
        host.give(defective, root)


def contention_is_known_on_all_hosts_or_one_is_named(run: Path) -> None:
    sampled = open_run(run).sampled["base"]
    assert {node: host for node, host in sampled.hosts.items() if node.startswith("relay")} in (
        {},  # other link drivers have none
        {f"relay@{host}": host for host in ("h1", "h2", "h3")},
    )
    assert {f"B{number}": sampled.hosts[f"B{number}"] for number in range(1, 7)} == {
        "B1": "h1", "B2": "h1", "B3": "h2", "B4": "h2", "B5": "h3", "B6": "h3",
    }  # fmt: skip
    summary = msgspec.json.decode((run / "summary.json").read_bytes(), type=Summary)
    by_name = audited(summary)
    assert by_name[unsampled_hosts.NAME].detail == "all 3 hosts were sampled"
    assert by_name[processor_counts.NAME].value == 0, by_name[processor_counts.NAME].detail
    budget = summary.variants[0].delay.budget
    assert budget is not UNSET and budget.parts.contention_ms is not None

    (run / "processors@h2.jsonl").unlink()
    summary = analyze(run, PlainEngine())
    missing = audited(summary)[unsampled_hosts.NAME]
    assert missing.verdict is FidelityVerdict.INVALID and missing.detail.startswith("h2: ")
    assert summary.variants[0].delay.figures[0].contention_ms is None


def audited(summary: Summary) -> dict[str, Check]:
    return {check.name: check for check in summary.variants[0].audit}


def test_a_brokers_defect_on_one_host_ends_the_run_on_the_other(laboratory: Laboratory, tmp_path: Path) -> None:
    """The run phase would last longer than the test may. The product of this run has a defective router, and a
    link that is slower than was asked for."""
    scenario, out, root = tmp_path / "defect.yaml", tmp_path / "runs", tmp_path / "brokerlab"
    scenario.write_text(DEFECT)
    copy_product(pack(), root)
    package = root / "broker_service" / "routing" / "defective"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "protocol.py").write_text(DEFECTIVE_PROTOCOL)
    give_with_defect(laboratory.hosts[:2], root, *SLOWER_LINK)
    code, output = laboratory.control(
        "emulate", scenario, "--hosts", laboratory.inventory, "--no-spark", "--no-report", "--out", out,
        "--runtime", "process", root=root,
    )  # fmt: skip
    assert code == ExitCode.BROKER_DEFECT, output
    assert f"h2: {DEFECT_SENTENCE}\n" in output
    assert "  delivery: broker defect\n" in output and "a, b = (1, 2, 3)" not in output
    (run,) = (path for path in out.iterdir() if not path.name.startswith("."))
    summary = json.loads((run / "summary.json").read_bytes())
    assert summary["delivery"] == [BROKER_DEFECT] and not summary["interrupted"]
    fidelity = json.loads((run / "fidelity.json").read_bytes())["variants"][0]
    wrong = {(link["a"], link["b"]) for link in fidelity["links"] if link["phase"] == "before" and not link["ok"]}
    assert wrong == {("B2", "berlin")}
    for host in laboratory.hosts:
        assert left_on(host) == []


def test_what_killed_runs_leave_is_cleaned(laboratory: Laboratory, tmp_path: Path) -> None:
    """The controller and one of two agents are killed while publishers publish."""
    scenario, out = tmp_path / "two.yaml", tmp_path / "runs"
    scenario.write_text(SCENARIO_OF_TWO)
    controller = laboratory.controlled(
        "emulate", scenario, "--hosts", laboratory.inventory, "--no-spark", "--out", out, "--runtime", "process"
    )
    used = laboratory.hosts[:2]
    signals = [host.directory / "shares" for host in used]
    await_true(
        lambda: controller.poll() is not None or all(list(where.glob("*/signals/0-begun.here")) for where in signals),
        "both hosts begin",
        PATIENCE,
    )
    assert controller.poll() is None, controller.communicate()
    (agent,) = used[-1].directory.glob("shares/*/signals/agent.json")
    assert used[-1].run("kill", "-KILL", str(json.loads(agent.read_bytes())["pid"])).returncode == 0
    controller.send_signal(signal.SIGKILL)
    controller.communicate()
    assert all(left_on(host) for host in used)

    code, said = laboratory.control("hosts", "clean", laboratory.inventory)
    assert code == 0, said
    assert "h1: removed 1 share of runs" in said
    for host in laboratory.hosts:
        assert left_on(host) == []
