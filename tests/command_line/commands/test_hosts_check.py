"""The answer of `brokerlab hosts check`, by what hosts have found of themselves."""

from __future__ import annotations

import msgspec
import pytest

from command_line.commands.answers import InWords
from command_line.commands.hosts_check import HostsCheck, print_check
from emulation.ansible import Played, TaskResult
from emulation.host.room import Host
from emulation.multi_host.check import Facts
from emulation.multi_host.model import Member
from emulation.multi_host.self_test import SelfTest
from emulation.planning.plan import Plan, make_plan
from record.errors import HostError
from record.host_speed import LoopTimes
from scenario.loading import load_text

SCENARIO = """
name: six
topology: {kind: line, brokers: 6, link: {delay: 5ms}}
routing: {protocol: tid}
workload:
  publications: {source: stocks, publishers: 4, rate: 20/s}
  subscriptions: {subscribers: 8, selectivity: 30%}
timeline: {join: 3s, run: 2s, drain: 1s}
"""
MEMBERS = (
    Member(name="h1", address="10.9.0.1"),
    Member(name="h2", address="10.9.0.2", weight=4.0),
    Member(name="h3", address="10.9.0.3"),
)
FACTS = Facts(
    links={"netem": "no HTB", "userspace": ""},
    container="no Docker",
    vxlan="",
    address="",
    ways=[],
    room=Host(2, 8 << 30),
    loops=LoopTimes(interpreter=1_600_000),
)


def found(plan: Plan | None, facts: Facts = FACTS, **processors: float) -> HostsCheck:
    results = []
    for member in MEMBERS:
        tested = SelfTest(processors=processors.get(member.name, 2.0), frames=90_000.0)
        for task, answer in (("examine", facts), ("test itself", tested)):
            results.append(TaskResult(member.name, task, {"stdout": msgspec.json.encode(answer).decode()}))
    return HostsCheck.of(MEMBERS, Played(tuple(results)), plan)


def plan(more: str = "") -> Plan:
    return make_plan(load_text(SCENARIO + more, "six"))


def test_shares_follow_the_weights_and_are_carried(capsys: pytest.CaptureFixture[str]) -> None:
    answer = found(plan())
    assert [(share.host, share.brokers) for share in answer.shares] == [("h1", 1), ("h2", 4), ("h3", 1)]
    assert answer.shares[1].processors > answer.shares[0].processors
    assert answer.refused == []
    print_check(InWords().console, answer)
    out = capsys.readouterr().out
    assert "carried  by these hosts" in out and "h1: container does not work: no Docker" in out


def test_the_host_that_does_not_carry_its_share_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    answer = found(plan(), h2=0.2)
    (refused,) = answer.refused
    assert refused.startswith("base: h2 with 4 brokers needs 0.")
    print_check(InWords().console, answer)
    assert f"refused  {refused}" in capsys.readouterr().out


def test_hosts_without_a_plan_say_what_they_carry(capsys: pytest.CaptureFixture[str]) -> None:
    answer = found(None, msgspec.structs.replace(FACTS, vxlan="no VXLAN interfaces"))
    assert answer.shares == [] and all(host.capacity.brokers > 100 for host in answer.hosts)
    print_check(InWords().console, answer)
    out = capsys.readouterr().out
    assert "h1 cannot take part: no VXLAN interfaces" in out and "carried" not in out


def test_a_plan_that_is_for_one_host_is_refused() -> None:
    sites = "clients: {sites: {a: {broker: B1, clients: [S1, S2]}, b: {broker: B6, clients: []}}}\n"
    with pytest.raises(HostError, match="clients go to sites on their own host"):
        found(plan(f"{sites}faults: [{{at: run+1s, move: S1, to: b}}]\n"))


def test_sites_count_for_the_hosts_of_their_brokers() -> None:
    shares = found(plan("clients: {every_broker: {sites: 2, delay: 1ms}}\n")).shares
    assert [share.sites for share in shares] == [2, 8, 2]
