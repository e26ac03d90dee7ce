"""Containers of client programs: confined as brokers are, and ended with what they printed. Docker is a stand-in."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import docker.errors
import pytest

from emulation.host.journal import Journal
from emulation.host.processes import await_end
from emulation.host.run_paths import RunPaths
from emulation.run.client_programs import ClientPrograms
from emulation.runtimes.client_containers import ClientContainers
from record.errors import HostError
from scenario.sections.clients import ProgramSection
from scenario.sections.timeline import Timeline
from tests.waiting import await_true

BASE, MINE = "brokerlab-broker:1", "my/subscriber"
ENDED = ["client program S1 got signal 9 without output"]
PROGRAM = ProgramSection.model_validate(
    {"image": MINE, "memory": "64MiB", "processes": 20, "environment": {"LIMIT": "3"}, "scratch": "1MiB"}
)


class StandIn:
    """Docker's API: containers by name, each a `sleep` while it runs, and the calls in their order."""

    def __init__(self) -> None:
        self.made: dict[str, dict[str, Any]] = {}
        self.running: dict[str, subprocess.Popen[bytes]] = {}
        self.calls: list[str] = []
        self.starts = True
        self.out_of_memory = False
        self.printed = b""

    def create_host_config(self, **options: Any) -> dict[str, Any]:
        return options

    def create_container(self, image: str, *, name: str, **options: Any) -> None:
        self.made[name] = {"image": image, **options, **options.pop("host_config")}

    def start(self, name: str) -> None:
        if not self.starts and not name.endswith(".sandbox"):
            raise docker.errors.APIError("no room for it")
        self.running[name] = subprocess.Popen(["sleep", "60"])

    def inspect_container(self, name: str) -> dict[str, Any]:
        return {"State": {"Pid": self.running[name].pid, "OOMKilled": self.out_of_memory}}

    def pause(self, name: str) -> None:
        self.calls.append("pause")

    def unpause(self, name: str) -> None:
        self.calls.append("unpause")

    def stop(self, name: str, timeout: int) -> None:
        self.running[name].kill()
        self.running[name].wait()
        self.calls.append("stop")

    def wait(self, name: str, timeout: float) -> dict[str, int]:
        code = self.running[name].wait()
        return {"StatusCode": code if code >= 0 else 128 - code}

    def logs(self, name: str, **options: Any) -> Iterator[bytes]:
        self.calls.append("logs")
        yield self.printed

    def remove_container(self, name: str, **options: Any) -> None:
        if name not in self.made:
            raise docker.errors.NotFound("no such container")
        self.calls.append("remove")
        del self.made[name]
        if (process := self.running.pop(name, None)) is not None:
            process.kill()
            process.wait()


@pytest.fixture
def api() -> Iterator[StandIn]:
    made = StandIn()
    yield made
    for process in made.running.values():
        process.kill()
        process.wait()


@pytest.fixture
def containers(api: StandIn, tmp_path: Path) -> ClientContainers:
    image = SimpleNamespace(id="sha256:1", attrs={"Architecture": "amd64", "Config": {"Cmd": ["/subscriber"]}})
    images = SimpleNamespace(get=lambda _name: image)
    client: Any = SimpleNamespace(api=api, images=images, version=lambda: {"Arch": "amd64"})
    paths = RunPaths("run", tmp_path, tmp_path)
    return ClientContainers(client, BASE, paths, Journal(tmp_path / "journal.jsonl"))


def test_a_program_has_no_privileges_and_no_network_but_its_sandbox(
    containers: ClientContainers, api: StandIn, tmp_path: Path
) -> None:
    with containers:
        assert containers.sandboxes(["S1"]) == {"S1": api.running["brokerlab-run-client.1.sandbox"].pid}
        containers.start("S1", PROGRAM, {"BROKERLAB_CLIENT": "S1"}, tmp_path / "output")
        sandbox, own = api.made["brokerlab-run-client.1.sandbox"], api.made["brokerlab-run-client.1"]
        assert sandbox["image"] == BASE
        assert sandbox["network_mode"] == "none"
        assert own["network_mode"] == "container:brokerlab-run-client.1.sandbox"
        for one in (sandbox, own):
            assert one["read_only"]
            assert one["cap_drop"] == ["ALL"]
            assert one["security_opt"] == ["no-new-privileges"]
            assert not one["user"].startswith("0:")
            assert one["labels"]["brokerlab.run"] == "run"
        assert (own["mem_limit"], own["memswap_limit"], own["pids_limit"]) == (64 << 20, 64 << 20, 20 + 1)
        assert own["tmpfs"] == {"/tmp": f"size={1 << 20},mode=1777,exec"}
        assert own["entrypoint"] == ["/subscriber"]
        assert own["environment"]["BROKERLAB_CLIENT"] == "S1"
    assert not api.made


def test_a_frozen_program_is_ended_and_what_it_printed_is_kept(
    containers: ClientContainers, api: StandIn, tmp_path: Path
) -> None:
    output = tmp_path / "output"
    output.write_bytes(b"of its former life\n")
    api.printed = b"OSError: Read-only file system: '/kept'\n"
    with containers:
        containers.sandboxes(["S1"])
        program = containers.start("S1", PROGRAM, {}, output)
        assert program.exit_code() is None
        program.pause()
        assert program.end() == "its root is read-only: write to /tmp, with clients.programs.S1.scratch"
        assert api.calls == ["pause", "unpause", "stop", "logs", "remove"]
        assert output.read_bytes() == b"of its former life\n" + api.printed
        again = containers.start("S1", PROGRAM, {}, output)
        api.out_of_memory = True
        api.running["brokerlab-run-client.1"].kill()
        assert again.identity is not None
        await_end([again.identity], within=60)
        assert again.exit_code() == -9
        assert again.end() == "it needed more memory than it may have, 64MiB (clients.programs.S1.memory)"


@pytest.mark.parametrize(
    ("printed", "remedy"),
    [
        (
            b"RuntimeError: can't start new thread\n",
            "it has as many processes as it may have, 20 (clients.programs.S1.processes)",
        ),
        (
            b"[FATAL tini (7)] exec nobody failed: No such file or directory\n",
            "its image lacks that program, or what its first line names: see clients.programs.S1.command",
        ),
    ],
    ids=["it may start no more", "its image lacks it"],
)
def test_a_program_that_ends_by_its_surroundings_is_told_the_field(
    containers: ClientContainers, api: StandIn, tmp_path: Path, printed: bytes, remedy: str
) -> None:
    api.printed = printed
    with containers:
        containers.sandboxes(["S1"])
        assert containers.start("S1", PROGRAM, {}, tmp_path / "output").end() == remedy


def test_faults_freeze_and_end_the_containers_of_programs(
    containers: ClientContainers, api: StandIn, tmp_path: Path
) -> None:
    timeline = Timeline.model_validate({"join": "1s", "run": "1s"})
    with containers, ClientPrograms({"S1": PROGRAM}, {"S1": containers}, tmp_path, timeline) as programs:
        containers.sandboxes(["S1"])
        programs.start()
        programs.pause(["S1", "another"])
        programs.resume(["S1", "another"])
        programs.end(["S1", "another"])
        assert api.calls == ["pause", "unpause", "stop", "logs", "remove"]
        assert not programs.running
        programs.start_again(["S1", "another"])
        assert not list(programs.ended())
        api.running["brokerlab-run-client.1"].kill()
        await_true(lambda: [str(ending) for ending in programs.ended()] == ENDED, "it is told that it has ended")
    assert not api.made


def test_what_docker_refuses_names_the_field_and_leaves_nothing(
    containers: ClientContainers, api: StandIn, tmp_path: Path
) -> None:
    api.starts = False
    with containers:
        containers.sandboxes(["S1"])
        with pytest.raises(HostError, match=r"^clients\.programs\.S1: cannot start container .*: no room for it$"):
            containers.start("S1", PROGRAM, {}, tmp_path / "output")
        assert len(api.made) == 2
    assert not api.made
