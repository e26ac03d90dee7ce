"""A broker that stands for somebody else's: brokerlab's own behind the contract, which knows nothing of `foreign`.

`python broker.py BROKER_JSON` routes by TID, and among native brokers by their protocol. `FOREIGN_DEFECT` in its
environment has it break the contract in one way.
"""

from __future__ import annotations

import itertools
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec
import uvloop

from broker_service.config import BrokerConfig, load
from broker_service.core.session import Session
from broker_service.grpc_shell.server import serve_until_stopped
from broker_service.messages import ClientEvent, Outcome
from broker_service.routing.foreign import FOREIGN

_TENTH = 10


def lose_each_tenth_notification(_config: BrokerConfig) -> None:
    put, numbers = Session.put, itertools.count(1)

    def put_most(session: Session, event: ClientEvent) -> Sequence[ClientEvent]:
        lost = event.outcome is Outcome.NOTIFIED and not event.body.count(b"canary") and next(numbers) % _TENTH == 0
        return () if lost else put(session, event)

    Session.put = put_most  # type: ignore[method-assign]


def skip_each_tenth_number(_config: BrokerConfig) -> None:
    """Loses each tenth notification once it has its number."""
    take = Session.take

    def take_most(session: Session, limit: int, most_bytes: int | None = None) -> list[ClientEvent]:
        taken = take(session, limit, most_bytes)
        return [
            each for each in taken if each.outcome is not Outcome.NOTIFIED or each.number % _TENTH or not each.number
        ]

    Session.take = take_most  # type: ignore[method-assign]


def repeat_each_tenth_under_a_new_number(_config: BrokerConfig) -> None:
    put, numbers = Session.put, itertools.count(1)

    def put_again(session: Session, event: ClientEvent) -> Sequence[ClientEvent]:
        if session.numbered and event.outcome is Outcome.NOTIFIED and next(numbers) % _TENTH == 0:
            put(session, event)
        return put(session, event)

    Session.put = put_again  # type: ignore[method-assign]


def never_listen(_config: BrokerConfig) -> None:
    time.sleep(3600)


def start_slowly_again(config: BrokerConfig) -> None:
    if config.incarnation > 1:
        time.sleep(5)


def listen_and_take_nobody_back(config: BrokerConfig) -> None:
    if config.incarnation > 1:
        path = Path(config.listen[0].removeprefix("unix:"))
        path.unlink(missing_ok=True)
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(str(path))
            path.chmod(0o777)
            listener.listen()
            time.sleep(3600)


def write_to_root(_config: BrokerConfig) -> None:
    Path("/scribble").write_text("x")


def fork_without_end(_config: BrokerConfig) -> None:
    while True:
        try:
            subprocess.Popen(["sleep", "3600"])
        except OSError:
            time.sleep(1)


DEFECTS: dict[str, Callable[[BrokerConfig], None]] = {
    made.__name__: made
    for made in (
        lose_each_tenth_notification,
        skip_each_tenth_number,
        repeat_each_tenth_under_a_new_number,
        never_listen,
        start_slowly_again,
        listen_and_take_nobody_back,
        write_to_root,
        fork_without_end,
    )
}


def main() -> None:
    config = load(Path(sys.argv[-1]))
    if defect := os.environ.get("FOREIGN_DEFECT"):
        DEFECTS[defect](config)
    if config.protocol == FOREIGN:
        config = msgspec.structs.replace(config, protocol="tid", options={})
    uvloop.run(serve_until_stopped(config))


if __name__ == "__main__":
    main()
