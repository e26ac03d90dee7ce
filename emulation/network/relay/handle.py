"""The emulator's handle on its relay: starts it, sends it requests, notices its end, stops it."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from typing import TypeVar

import msgspec

from emulation.host.processes import RUN_VARIABLE, end_child
from emulation.network.model import NetworkError
from emulation.network.relay.messages import (
    MAXIMUM_MESSAGE,
    AskPunctuality,
    AskStatistics,
    Done,
    LinkCounters,
    Punctuality,
    Refused,
    Reply,
    Request,
)

RELAY_PROGRAM = "emulation.network.relay.process"
"""The module that relays execute."""
REPLY_TIMEOUT = 60.0
"""Seconds after which a relay that has not replied counts as dead."""
_END_TIMEOUT = 5.0
_ROOT = Path(__file__).resolve().parents[2]
_Reply = TypeVar("_Reply", LinkCounters, Punctuality, Done)


class RelayProcess:
    """A running relay. Safe to use from several threads."""

    def __init__(self, run_id: str, seed: int) -> None:
        self._control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._control.settimeout(REPLY_TIMEOUT)
        self._turn = threading.Lock()
        self._decoder = msgspec.json.Decoder(Reply)
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - closed in stop()
        control = str(theirs.fileno())
        command = [sys.executable, "-m", RELAY_PROGRAM, "--seed", str(seed), "--control", control]
        with theirs:
            self._process = subprocess.Popen(
                command,
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=self._errors,
                cwd=_ROOT,
                env=os.environ | {RUN_VARIABLE: run_id},
                start_new_session=True,  # Ctrl-C is the emulator's to handle, and still needs its links
            )
        self._priority: str | None = None

    @property
    def pid(self) -> int:
        """The relay's process."""
        return self._process.pid

    def await_ready(self) -> str:
        """Waits until the relay, which starts in the background, is ready; returns the scheduling that the host gave
        it."""
        if self._priority is None:
            self._priority = self._receive(Done).detail
        return self._priority

    def carry_out(self, request: Request) -> None:
        """Sends a request to the relay. Raises `NetworkError` with the reason if it fails."""
        self._ask(request, Done)

    def counters(self, index: int) -> LinkCounters:
        """The counters of the `index`-th link."""
        return self._ask(AskStatistics(index), LinkCounters)

    def punctuality(self) -> Punctuality:
        """The relay's lateness since it was started."""
        return self._ask(AskPunctuality(), Punctuality)

    def check(self) -> None:
        """Raises `NetworkError` if the relay has ended."""
        if self._process.poll() is not None:
            raise NetworkError(self._failure())

    def stop(self) -> None:
        """Ends the relay, and with it its interfaces. Does nothing if it has ended."""
        self._control.close()
        end_child(self._process, _END_TIMEOUT)
        self._errors.close()

    def _ask(self, request: Request, expected: type[_Reply]) -> _Reply:
        with self._turn:
            self.await_ready()
            try:
                self._control.send(msgspec.json.encode(request))
            except OSError as error:
                raise NetworkError(self._failure()) from error
            return self._receive(expected)

    def _receive(self, expected: type[_Reply]) -> _Reply:
        try:
            message = self._control.recv(MAXIMUM_MESSAGE)
        except OSError as error:
            raise NetworkError(self._failure()) from error
        if not message:
            raise NetworkError(self._failure())
        reply = self._decoder.decode(message)
        if isinstance(reply, Refused):
            raise NetworkError(f"the relay refused: {reply.reason}")
        if not isinstance(reply, expected):
            raise NetworkError(f"the relay replied {type(reply).__name__} instead of {expected.__name__}")
        return reply

    def _failure(self) -> str:
        """The relay's failure as the user reads it."""
        try:
            status = self._process.wait(1.0)
        except subprocess.TimeoutExpired:
            return f"the relay (process {self.pid}) does not reply: the links' properties no longer hold"
        how = f"was killed by signal {-status}" if status < 0 else f"ended with status {status}"
        self._errors.seek(0)
        lines = self._errors.read().decode(errors="replace").strip().splitlines()
        last = f": {lines[-1]}" if lines else ""
        return f"the relay (process {self.pid}) {how}{last}; every link of this run is cut"
