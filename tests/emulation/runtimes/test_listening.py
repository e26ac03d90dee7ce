"""Looks at restarted brokers from outside; sockets of the test stand for theirs."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from emulation.runtimes.listening import ListeningWatch, knock


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    with socket.socket(socket.AF_UNIX) as listener:
        yield listener


def _look_until_found() -> None:
    for thread in threading.enumerate():
        if thread.name == "start of B1":
            thread.join(timeout=60)


def test_a_socket_without_a_listener_is_nobodys(tmp_path: Path, listener: socket.socket) -> None:
    address = f"unix:{tmp_path / 'broker.sock'}"
    assert not knock(address)
    listener.bind(str(tmp_path / "broker.sock"))
    assert not knock(address)
    listener.listen()
    assert knock(address)


def test_a_link_in_place_of_the_socket_is_not_followed(tmp_path: Path, listener: socket.socket) -> None:
    listener.bind(str(tmp_path / "other.sock"))
    listener.listen()
    (tmp_path / "broker.sock").symlink_to(tmp_path / "other.sock")
    assert not knock(f"unix:{tmp_path / 'broker.sock'}")


def test_a_queue_that_is_full_is_a_listeners(tmp_path: Path, listener: socket.socket) -> None:
    path = tmp_path / "broker.sock"
    listener.bind(str(path))
    listener.listen(0)
    assert all(knock(f"unix:{path}") for _ in range(3))


def test_a_broker_is_looked_at_until_it_listens(tmp_path: Path, listener: socket.socket) -> None:
    path = tmp_path / "broker.sock"
    watch = ListeningWatch({"B1": f"unix:{path}"})
    listener.bind(str(path))
    watch.begin("B1")
    assert watch.taken() == []
    listener.listen()
    _look_until_found()
    (found,) = watch.taken()
    assert found.broker == "B1"
    assert found.not_before < found.seen
    assert watch.taken() == []


def test_what_was_seen_of_a_broker_that_is_down_again_does_not_count(tmp_path: Path, listener: socket.socket) -> None:
    path = tmp_path / "broker.sock"
    listener.bind(str(path))
    listener.listen()
    watch = ListeningWatch({"B1": f"unix:{path}"})
    watch.begin("B1")
    _look_until_found()
    watch.end("B1")
    assert watch.taken() == []
