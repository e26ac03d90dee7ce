"""The held runs of this host, as commands find and ask them."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from emulation.held.requests import (
    MOST_ANSWER_BYTES,
    Answer,
    BrokerPlace,
    Done,
    Refused,
    Request,
    Status,
    StatusRequest,
    encoded,
    read_answer,
)
from emulation.held.server import socket_of
from emulation.host.registry import ROOT, runs
from record.errors import BadInputError, HostError

CONSOLE = "held.txt"
"""The file of what a supervisor prints, in the run directory."""


@dataclass(frozen=True, slots=True)
class HeldRun:
    """A run that is held on this host."""

    run_id: str
    directory: Path
    supervisor: int
    """The supervisor's process."""
    socket: Path

    def ask(self, request: Request) -> Answer:
        """Waits for the answer. Raises `HostError` where the supervisor does not answer."""
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            try:
                connection.connect(str(self.socket))
                connection.sendall(encoded(request))
                with connection.makefile("rb") as answer:
                    line = answer.readline(MOST_ANSWER_BYTES)
            except OSError as error:
                raise HostError(f"the run {self.run_id} does not answer: {error.strerror or error}") from error
        return read_answer(line)

    def done(self, request: Request) -> Done:
        """Has something done by hand. Raises `BadInputError` with the reason where it is refused."""
        answer = self.ask(request)
        if isinstance(answer, Refused):
            raise BadInputError(answer.reason)
        assert isinstance(answer, Done)
        return answer

    def status(self) -> Status:
        """The state of the run."""
        answer = self.ask(StatusRequest())
        assert isinstance(answer, Status)
        return answer

    def place(self, broker: str) -> BrokerPlace:
        """A broker of the run. Raises `BadInputError` for a name that the overlay does not have."""
        brokers = {place.name: place for place in self.status().brokers}
        if not brokers:
            raise BadInputError(f"the run {self.run_id} is not up yet, or ending; `brokerlab status` shows its state")
        if broker not in brokers:
            raise BadInputError(f"the overlay has no broker {broker!r}; it has {', '.join(brokers)}"[:400])
        return brokers[broker]


def held_runs(root: Path = ROOT) -> Iterator[HeldRun]:
    """The runs whose supervisors live, in the order of their beginnings."""
    for run_id, owner in runs(root):
        path = socket_of(root / run_id)
        if owner is not None and owner.alive and path.exists():
            yield HeldRun(run_id, Path(owner.journal).parent, owner.process.pid, path)


def held_run(name: str | None, root: Path = ROOT) -> HeldRun:
    """The run of this name, or of a part of it that no other has; the only one without a name.

    Raises `BadInputError` where there is none, or more than one.
    """
    there = list(held_runs(root))
    found = [run for run in there if name is None or name == run.run_id] or [
        run for run in there if name is not None and name in run.run_id
    ]
    if len(found) == 1:
        return found[0]
    if not found:
        killed = any(
            owner is not None and not owner.alive and socket_of(root / run).exists() for run, owner in runs(root)
        )
        rest = "; the supervisor of one was killed: `brokerlab clean` removes the rest of it" if killed else ""
        wanted = "no run is held here" if name is None else f"no run whose name has {name!r} is held here"
        raise BadInputError(f"{wanted}; `brokerlab up FILE` starts one{rest}")
    names = ", ".join(run.run_id for run in found)
    raise BadInputError(f"several runs are held here; choose with --run or the variable BROKERLAB_HELD_RUN: {names}")
