"""Playbooks on this very host, through the real ansible-runner: what comes back, and what is said of a failure."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from emulation.ansible import (
    Inventory,
    PlayCancelledError,
    PlayError,
    TaskFailure,
    TaskResult,
    local_inventory,
    play,
    read_inventory,
)
from emulation.host.processes import processes_started_with
from record.errors import BadInputError

MARK = "BROKERLAB_TEST_PLAY"
PLAYBOOK = """\
- name: try
  hosts: all
  gather_facts: false
  tasks:
    - name: say
      ansible.builtin.command: {argv: [echo, "{{ text }}"]}
    - name: stumble
      ansible.builtin.command: {argv: [sh, -c, "echo first >&2; echo there is no such thing >&2; exit 3"]}
      when: text == "stumble"
    - name: shrug
      ansible.builtin.command: {argv: ["false"]}
      ignore_errors: true
      when: text == "stumble"
    - name: sleep
      ansible.builtin.command: {argv: [sleep, "600"]}
      when: text == "sleep"
"""


@pytest.fixture
def playbook(tmp_path: Path) -> str:
    file = tmp_path / "try.yml"
    file.write_text(PLAYBOOK)
    return str(file)


def test_results_by_task_and_host_and_nothing_left(tmp_path: Path, playbook: str) -> None:
    heard: list[TaskResult] = []
    private = tmp_path / "private"
    played = play(playbook, local_inventory(), private, {"text": "hello"}, on_result=heard.append)
    assert played.of("say")["localhost"]["stdout"] == "hello"
    assert heard == list(played.results)
    assert not private.exists()


def test_a_failure_is_told_as_host_task_and_message(tmp_path: Path, playbook: str) -> None:
    with pytest.raises(PlayError) as caught:
        play(playbook, local_inventory(), tmp_path / "private", {"text": "stumble"})
    assert "localhost: stumble: there is no such thing" in str(caught.value)
    (failure,) = caught.value.failures
    assert failure.result["rc"] == 3
    assert not (tmp_path / "private").exists()


def test_a_play_that_is_cancelled(tmp_path: Path, playbook: str) -> None:
    """It ends long before its task, which takes longer than a test may."""
    reached: list[str] = []

    def note_result(result: TaskResult) -> None:
        reached.append(result.task)

    with pytest.raises(PlayCancelledError):
        play(
            playbook, local_inventory(), tmp_path / "private", {"text": "sleep"},
            on_result=note_result, cancelled=lambda: bool(reached),
        )  # fmt: skip
    assert not (tmp_path / "private").exists()


@pytest.mark.proof
def test_a_failure_is_reported_while_other_hosts_still_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ansible reports the failure of a play itself only once all hosts are done. No process of the play is left."""
    monkeypatch.setenv(MARK, str(tmp_path))
    playbook = tmp_path / "part.yml"
    playbook.write_text(
        "- hosts: all\n  gather_facts: false\n  any_errors_fatal: true\n  tasks:\n"
        "    - name: part\n      ansible.builtin.command: {argv: [sh, -c, '{{ command }}']}\n"
    )
    inventory = tmp_path / "hosts.ini"
    inventory.write_text(
        "[all:vars]\nansible_connection=local\n[all]\nfails command='exit 5'\nworks command='sleep 600'\n"
    )
    failures: list[TaskFailure] = []
    with pytest.raises(PlayCancelledError):
        play(
            str(playbook), Inventory(inventory, ("fails", "works")), tmp_path / "private", {},
            on_failure=failures.append, cancelled=lambda: bool(failures),
        )  # fmt: skip
    assert [(failure.host, failure.task, failure.result["rc"]) for failure in failures] == [("fails", "part", 5)]
    assert list(processes_started_with(MARK, str(tmp_path))) == []


def inventory_with(file: Path, **directories: Path) -> Inventory:
    """This host under some names, each with its directory for brokerlab."""
    common = f"ansible_connection=local ansible_python_interpreter={sys.executable}"
    lines = [f"{name} {common} brokerlab_directory={directory}\n" for name, directory in directories.items()]
    file.write_text("".join(lines))
    return Inventory(file, tuple(directories))


@pytest.mark.proof
@pytest.mark.parametrize("playbook", ["begin.yml", "prepare.yml"])
def test_a_directory_that_cannot_be_written_is_a_mistake_in_the_inventory(tmp_path: Path, playbook: str) -> None:
    file = tmp_path / "hosts.ini"
    inventory = inventory_with(file, here=file / "below_a_file", there=Path("/proc"))
    with pytest.raises(PlayError) as caught:
        play(playbook, inventory, tmp_path / "private", {"product": "product-1"})
    assert caught.value.exit_code == 2
    for host, what in (("here", "Not a"), ("there", "No such file or")):
        message = rf"{host}: .*{file}: brokerlab_directory: .*{what} directory; name a directory"
        assert re.search(message, str(caught.value))


@pytest.mark.proof
def test_a_missing_directory_is_made_and_nothing_is_left_in_it(tmp_path: Path) -> None:
    inventory = inventory_with(tmp_path / "hosts.ini", here=tmp_path / "not" / "there")
    with pytest.raises(PlayError, match="brokerlab's files") as caught:
        play("prepare.yml", inventory, tmp_path / "private", {"product": "product-1", "archive": "/nowhere.tar.gz"})
    assert caught.value.exit_code == 4
    assert [path.name for path in (tmp_path / "not" / "there").iterdir()] == ["product-1"]


def test_an_inventory_and_a_host_that_cannot_be_reached(tmp_path: Path, playbook: str) -> None:
    file = tmp_path / "hosts.ini"
    file.write_text(
        "[near]\nhere ansible_connection=local\n[far]\nthere ansible_host=127.0.0.1 ansible_port=1 brokerlab_home=/x\n"
    )
    inventory = read_inventory(file, tmp_path / "private")
    assert inventory.hosts == ("here", "there")
    assert inventory.variables["there"]["brokerlab_home"] == "/x"
    with pytest.raises(PlayError, match=r"there: say: cannot be reached: .*refused"):
        play(playbook, inventory, tmp_path / "private", {"text": "hello"}, limit="there")


@pytest.mark.parametrize(("content", "message"), [(None, "there is no such inventory"), ("", "names no host")])
def test_inventories_that_are_none(tmp_path: Path, content: str | None, message: str) -> None:
    file = tmp_path / "hosts.yml"
    if content is not None:
        file.write_text(content)
    with pytest.raises(BadInputError, match=message) as caught:
        read_inventory(file, tmp_path / "private")
    assert str(file) in str(caught.value)
