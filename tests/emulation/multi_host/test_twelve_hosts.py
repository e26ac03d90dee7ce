"""A run over twelve hosts of ten brokers each, which are namespaces of this machine.

It shows that so many hosts, tunnels and brokers find together, and are removed again. It shows nothing about speed,
because one kernel and the processors of one machine carry all of it.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from analysis.tables.summary import violated
from emulation.planning.plan import make_plan
from record import manifest
from scenario.loading import load
from tests.emulation.multi_host.laboratory import Laboratory, left_on, obstacle

pytestmark = [pytest.mark.proof, pytest.mark.whole, pytest.mark.timeout(470)]

HOSTS = [f"h{number}" for number in range(1, 13)]
SCENARIO = """
name: many
topology: {kind: cyclic, brokers: 120, degree: 3, link: {delay: 30ms}}
routing: {protocol: tid, publications: fixed}
workload:
  publications: {source: stocks, publishers: 12, rate: 1/s}
  subscriptions: {subscribers: 24, selectivity: 30%}
timeline: {join: 10s, run: 5s, drain: 10s}
"""


@pytest.fixture(scope="module")
def laboratory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Laboratory]:
    if (reason := obstacle()) is not None:
        pytest.skip(reason)
    with Laboratory(tmp_path_factory.mktemp("laboratory"), [0 for _ in HOSTS]) as made:
        yield made


def test_twelve_hosts_share_an_overlay_of_120_brokers(laboratory: Laboratory, tmp_path: Path) -> None:
    scenario, out = tmp_path / "many.yaml", tmp_path / "runs"
    scenario.write_text(SCENARIO)
    code, said = laboratory.control(
        "emulate", scenario, "--hosts", laboratory.inventory, "--no-spark", "--no-report", "--out", out,
        "--links", "userspace",
    )  # fmt: skip
    assert code in {0, 3}, said  # INVALID where there is more to do than processors
    carried = {host: line.count(",") + 1 for line in said.splitlines() for host in HOSTS if f"host     {host} " in line}
    assert carried == dict.fromkeys(HOSTS, 10), said

    (run,) = (path for path in out.iterdir() if not path.name.startswith("."))
    assert [host.name for host in manifest.read(run).hosts] == HOSTS
    (variant,) = json.loads((run / "summary.json").read_bytes())["variants"]
    assert not violated(variant["delivery"]["verdicts"], variant["fidelity"]), variant["delivery"]
    assert variant["delivery"]["delivered"] > 50
    fidelity = json.loads((run / "fidelity.json").read_bytes())["variants"][0]
    probed = Counter((link["a"], link["b"]) for link in fidelity["links"] if link["phase"] == "before")
    (planned,) = make_plan(load(scenario)).variants
    pairs = {(link.a, link.b) for link in planned.overlay.links}
    assert set(probed) == pairs | {(b, a) for a, b in pairs}
    for host in laboratory.hosts:
        assert left_on(host) == []
