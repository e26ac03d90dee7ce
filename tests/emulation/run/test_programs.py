"""Routers' programs in the containers of their brokers: mounted, killed, paused and charged with them."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from emulation.host.docker_host import docker_client
from record.exit_codes import ExitCode
from tests.emulation.run.broker_image import image_of

ROOT = Path(__file__).resolve().parents[3]
BALLAST = 96 << 20
"""Bytes that the program holds."""

pytestmark = [
    pytest.mark.container,
    pytest.mark.skipif(
        os.geteuid() != 0 or not all(map(shutil.which, ("mnexec", "docker"))), reason="needs root, Docker and Mininet"
    ),
]

PROGRAM = f"""\
import base64, json, sys
clients, seen, count, ballast = {{}}, set(), 0, None

def say(said):
    print(json.dumps(said), flush=True)

def match():
    say({{"ask": {{"for": "match"}}}})
    return json.loads(sys.stdin.readline())["keys"]

def spread(number, message, source):
    seen.add(number)
    header, hops = base64.b64encode(number.encode()).decode(), message.get("hops", 0) + 1
    sends = [{{"do": "send", "neighbour": one, "message": {{"same": 0, "header": header, "hops": hops}}}}
             for one in me["neighbours"] if one != source]
    notified = sorted({{clients[key] for key in match()}})
    return [{{"do": "deliver", "clients": notified, "message": {{"same": 0, "header": header}}}}, *sends]

for line in sys.stdin:
    call = json.loads(line)
    name, actions = call["call"], []
    if name == "declare":
        say({{"declaration": {{"contract": 1, "calls": []}}}})
        continue
    if name == "init":
        me, ballast = call, b"x" * {BALLAST}
        if len(sys.argv) > 1:
            print(open(sys.argv[1]).read(), file=sys.stderr)
    elif name == "subscribe":
        clients[call["id"]] = call["client"]
        say({{"tell": {{"of": "index", "key": call["id"], "predicates": call["subscription"]}}}})
    elif name == "unsubscribe":
        del clients[call["id"]]
        say({{"tell": {{"of": "unindex", "key": call["id"]}}}})
    elif name == "publish":
        count += 1
        actions = spread(f"{{me['broker']}}.{{me['incarnation']}}.{{count}}", call["message"], None)
    elif name == "receive":
        number = base64.b64decode(call["message"]["header"]).decode()
        actions = [] if number in seen else spread(number, call["message"], call["neighbour"])
    say({{"actions": actions}})
"""

SCENARIO = """
name: program
topology: {kind: line, brokers: 3, link: {delay: 2ms}}
routing: {protocol: {program: %s}}
workload:
  operations:
    - {at: 0s, client: P, broker: B1, id: a, advertise: "[class,eq,'STOCK']"}
    - {at: 0s, client: S, broker: B3, id: s, subscribe: "[class,eq,'STOCK']"}
    - {at: 1s, client: P, broker: B1, id: p1, publish: "[class,'STOCK']"}
    - {at: 11s, client: P, broker: B1, id: p2, publish: "[class,'STOCK']"}
timeline: {join: 1s, run: 12s, drain: 3s}
%s
"""


def emulated(
    directory: Path, argv: str, rest: str = "", runtime: str = "container"
) -> subprocess.CompletedProcess[str]:
    folder = directory / "mine"
    folder.mkdir(mode=0o755, exist_ok=True)
    (folder / "router.py").write_text(PROGRAM)
    scenario = directory / "program.yaml"
    scenario.write_text(SCENARIO % (argv, rest))
    command = [sys.executable, "-m", "command_line", "emulate", scenario, "--out", directory / "runs", "--no-spark"]
    return subprocess.run(
        [*map(str, command), "--no-report", "--runtime", runtime], cwd=ROOT, capture_output=True, text=True, check=False
    )


def records(directory: Path, node: str) -> list[dict[str, Any]]:
    (run,) = (directory / "runs").iterdir()
    return [json.loads(line) for line in (run / "logs" / f"{node}.jsonl").read_text().splitlines()]


def left(directory: Path) -> list[str]:
    """Processes of the program, and containers of the run."""
    (run,) = (directory / "runs").iterdir()
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = path.read_bytes().replace(b"\0", b" ").decode()
        except OSError:
            continue
        found += [words] if f"{directory}/mine" in words else []
    client = docker_client()
    containers = client.containers.list(all=True, filters={"label": f"brokerlab.run={run.name}"})
    client.close()
    return found + [one.name for one in containers]


def test_a_program_lives_and_ends_with_its_broker(tmp_path: Path) -> None:
    faults = """
faults:
  - {at: run+2s, kill: B2, for: 1s}
  - {at: run+2s, pause: B3, for: 1s}
"""
    done = emulated(tmp_path, "[python3, ./mine/router.py]", faults)
    assert done.returncode in {ExitCode.CORRECT, ExitCode.INVALID}, done.stdout + done.stderr
    assert [one["id"] for one in records(tmp_path, "B3") if one["event"] == "delivered"] == ["p1", "p2"]
    loads = [one for one in records(tmp_path, "B2") if one["event"] == "load"]
    assert {one["count"] for one in loads} == {1, 2}
    assert all(one["bytes"] > BALLAST for one in loads)
    assert left(tmp_path) == []


@pytest.mark.proof
@pytest.mark.skipif(shutil.which("g++") is None, reason="a C++ compiler is not installed")
def test_a_static_binary_needs_nothing_of_the_image(tmp_path: Path) -> None:
    binary = tmp_path / "mine" / "flooding"
    binary.parent.mkdir(mode=0o755)
    source = ROOT / "examples" / "routers" / "flooding.cpp"
    subprocess.run(["g++", "-std=c++17", "-static", "-o", binary, source], check=True)
    done = emulated(tmp_path, "[./mine/flooding]")
    assert done.returncode in {ExitCode.CORRECT, ExitCode.INVALID}, done.stdout + done.stderr
    assert [one["id"] for one in records(tmp_path, "B3") if one["event"] == "delivered"] == ["p1", "p2"]
    assert left(tmp_path) == []


@pytest.mark.proof
def test_an_image_of_ones_own_has_what_the_program_needs(tmp_path: Path) -> None:
    (words := tmp_path / "words").write_text("hello")
    image = image_of("program", ["COPY words /opt/words"], {"words": words})
    done = emulated(tmp_path, "[python3, ./mine/router.py, /opt/words]", f"brokers: {{image: '{image}'}}")
    assert done.returncode in {ExitCode.CORRECT, ExitCode.INVALID}, done.stdout + done.stderr
    assert [one["id"] for one in records(tmp_path, "B3") if one["event"] == "delivered"] == ["p1", "p2"]


@pytest.mark.proof
@pytest.mark.parametrize(
    ("argv", "rest", "runtime", "sentence"),
    [
        ("[python3, ./mine/router.py, /opt/words]", "", "container", "No such file or directory: '/opt/words'"),
        ("[python3, ./mine/router.py]", "brokers: {image: 'brokerlab-test:none'}", "container", "there is no image"),
        ("[python3, ./mine/router.py]", "brokers: {image: x}", "simulated", "only containers have an image"),
    ],
)
def test_one_sentence_says_what_a_container_lacks(
    tmp_path: Path, argv: str, rest: str, runtime: str, sentence: str
) -> None:
    done = emulated(tmp_path, argv, rest, runtime)
    assert done.returncode not in {ExitCode.CORRECT, ExitCode.INVALID}
    assert sentence in " ".join((done.stdout + done.stderr).split())
