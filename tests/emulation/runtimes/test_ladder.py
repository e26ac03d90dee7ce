"""The ladder is climbed from the top, never silently."""

from __future__ import annotations

import os
import shutil

import pytest

from emulation.host import docker_host
from emulation.host.images import ImageReference
from emulation.network.drivers import DriverTrial
from emulation.network.model import LinkDriver
from emulation.runtimes import ladder
from record.errors import BadInputError, HostError
from record.manifest import RungChoice


@pytest.fixture
def host(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """A host on which everything works; tests take pieces away."""
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(shutil, "which", lambda tool: f"/usr/bin/{tool}")
    monkeypatch.setattr(docker_host, "docker_client", lambda: "client")
    monkeypatch.setattr(docker_host, "ensure_image", lambda *_: ImageReference("brokerlab-broker:1", "sha256:1"))
    drivers(monkeypatch, netem="", userspace="")
    return monkeypatch


def drivers(monkeypatch: pytest.MonkeyPatch, netem: str, userspace: str) -> None:
    """Lets drivers work, or fail for a reason."""
    trials = [
        DriverTrial(LinkDriver.NETEM, not netem, netem),
        DriverTrial(LinkDriver.USERSPACE, not userspace, userspace),
    ]
    monkeypatch.setattr(ladder, "usable_drivers", lambda: trials)


def stop_docker(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse() -> None:
        raise HostError("Docker does not answer (connection refused); start it with `make setup`")

    monkeypatch.setattr(docker_host, "docker_client", refuse)


def choose(runtime: str = "auto", links: str = "auto") -> tuple[ladder.Rungs, list[str]]:
    """Rungs in real time."""
    lines: list[str] = []
    rungs = ladder.choose(runtime, links, lines.append)
    assert isinstance(rungs, ladder.Rungs)
    return rungs, lines


def simulated(runtime: str = "auto") -> tuple[ladder.Simulated, list[str]]:
    lines: list[str] = []
    rungs = ladder.choose(runtime, "auto", lines.append)
    assert isinstance(rungs, ladder.Simulated)
    return rungs, lines


def test_auto_takes_the_highest_rungs(host: pytest.MonkeyPatch) -> None:
    rungs, lines = choose()
    assert (rungs.runtime.name, rungs.links.name) == ("container", "netem")
    assert rungs.docker is not None
    assert lines == []


def test_auto_steps_down_and_says_why(host: pytest.MonkeyPatch) -> None:
    stop_docker(host)
    drivers(host, netem="no sch_netem", userspace="")
    rungs, _ = choose()
    assert (rungs.runtime.name, rungs.links.name) == ("process", "userspace")
    assert "Docker does not answer" in rungs.runtime.reason
    assert "no sch_netem" in rungs.links.reason
    assert rungs.docker is None


def test_what_was_asked_for_is_never_replaced(host: pytest.MonkeyPatch) -> None:
    stop_docker(host)
    with pytest.raises(HostError, match="Docker does not answer"):
        choose(runtime="container")
    drivers(host, netem="no sch_netem", userspace="")
    with pytest.raises(HostError, match="netem does not work here: no sch_netem"):
        choose(runtime="process", links="netem")


def test_a_lower_rung_can_be_asked_for(host: pytest.MonkeyPatch) -> None:
    rungs, _ = choose(runtime="process", links="userspace")
    assert rungs.runtime.reason == rungs.links.reason == "asked for"


def test_no_driver_at_all_names_every_obstacle(host: pytest.MonkeyPatch) -> None:
    drivers(host, netem="no sch_netem", userspace="no tun")
    with pytest.raises(HostError, match=r"no sch_netem.*no tun"):
        choose(runtime="process")


@pytest.mark.parametrize(("runtime", "links"), [("magic", "auto"), ("auto", "magic")])
def test_unknown_rungs_are_bad_input(host: pytest.MonkeyPatch, runtime: str, links: str) -> None:
    with pytest.raises(BadInputError, match="choose auto"):
        choose(runtime, links)


def test_without_root_or_tools_the_remedy_is_named(host: pytest.MonkeyPatch) -> None:
    host.setattr(shutil, "which", lambda tool: None if tool == "mnexec" else tool)
    with pytest.raises(HostError, match="install the package mininet"):
        choose(runtime="container")
    host.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(HostError, match="sudo"):
        choose(runtime="process")


def test_the_lowest_rung_needs_nothing_and_is_never_taken_while_a_higher_one_works(host: pytest.MonkeyPatch) -> None:
    assert simulated("simulated")[0].runtime == RungChoice("simulated", "asked for")
    stop_docker(host)
    assert choose()[0].runtime.name == "process"


@pytest.mark.parametrize("missing", ["root", "mnexec", "link drivers"])
def test_auto_comes_down_to_simulation_and_says_why(host: pytest.MonkeyPatch, missing: str) -> None:
    if missing == "root":
        host.setattr(os, "geteuid", lambda: 1000)
    elif missing == "mnexec":
        host.setattr(shutil, "which", lambda tool: None if tool == "mnexec" else tool)
    else:
        drivers(host, netem="no sch_netem", userspace="no link drivers at all")
    rungs, (line,) = simulated()
    assert rungs.runtime.name == "simulated"
    assert "neither the container nor the process runtime works here" in rungs.runtime.reason
    assert missing in rungs.runtime.reason
    assert rungs.runtime.reason in line


def test_links_that_were_asked_for_are_never_modelled_instead(host: pytest.MonkeyPatch) -> None:
    with pytest.raises(BadInputError, match="simulated links are modelled"):
        ladder.choose("simulated", "netem", print)
    host.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(HostError, match="sudo"):
        ladder.choose("auto", "userspace", print)
