"""The pipe to a router's program: one call at a time, and what the program says until it has answered.

Whatever the program does wrong is a `ProgramError`, whose sentence names the program and the call. A program ends with
its standard input; one that does not within `_END_WITHIN` is killed. It never outlives the process that started it.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import fcntl
import os
import select
import signal
import subprocess
import sys
import weakref
from collections.abc import Callable, Sequence
from typing import IO, Final

import msgspec

from broker_service.routing.program.lines import MOST_LINE, AnyCall, Reply, Said
from broker_service.routing.program.references import file_name
from record.errors import BadInputError

ANSWER_WITHIN = 10.0
"""Seconds within which a program must say something after each line of the broker."""
_END_WITHIN: Final = 2.0
_CHUNK: Final = 1 << 18
_LAST_WORDS: Final = 2_000
"""Bytes of the program's standard error that an error quotes."""
_MOST_ERRORS: Final = 1 << 20
"""Bytes of it that are kept in memory; more is forgotten at every `_CUT_AFTER`-th call."""
_CUT_AFTER: Final = 1 << 10
_PR_SET_PDEATHSIG: Final = 1
_UNSET_FIELDS: Final = len(Said.__struct_fields__) - 1
"""Fields that a line of the program leaves out."""

Asked = Callable[[Said], Reply | None]
"""Handles an ask or a tell; returns the reply to an ask."""


_REMEDIES = {
    errno.ENOENT: "name it by its path, or install it or the interpreter in its first line",
    errno.EACCES: "make it executable (chmod +x), or name its interpreter before it",
    errno.ENOEXEC: "name its interpreter before it, or in its first line, such as #!/usr/bin/env node",
}


class ProgramError(Exception):
    """A program that broke its contract; the text is one sentence."""


class NoProgramError(ProgramError, BadInputError):
    """A program that cannot be started; the text ends with the remedy."""


class Channel:
    """The pipe to one process of a program."""

    def __init__(self, argv: Sequence[str]) -> None:
        """Starts the process. Raises `NoProgramError` when there is no such program."""
        self._name = file_name(argv)
        self._errors = _memory_file()
        try:
            self._process = subprocess.Popen(
                argv,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._errors,
                bufsize=0,
                env=os.environ | {"BROKERLAB_ROUTER": "1"},
                preexec_fn=_die_with_parent if sys.platform == "linux" else None,  # noqa: PLW1509 - no threads yet
            )
        except OSError as error:
            self._errors.close()
            remedy = _REMEDIES.get(error.errno or 0, "name another one")
            raise NoProgramError(f"the program {argv[0]} cannot be started: {error.strerror}; {remedy}") from error
        self.pid = self._process.pid
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._in, self._out = self._process.stdin.fileno(), self._process.stdout.fileno()
        self._poll = select.poll()
        self._poll.register(self._out, select.POLLIN)
        self._poll_in = select.poll()
        self._poll_in.register(self._in, select.POLLOUT)
        os.set_blocking(self._in, False)
        self._encode = msgspec.json.Encoder().encode_into
        self._line = bytearray()
        self._decode: Callable[[bytes], Said] = msgspec.json.Decoder(Said).decode
        self._calls = 0
        self._rest = b""
        """Bytes that came and are no whole line."""
        self.close: Callable[[], object] = weakref.finalize(self, _end, self._process, self._errors)
        """Ends the process; nothing happens the second time."""

    def call(self, call: AnyCall, asked: Asked) -> Said:
        """Has the program answer a call; `asked` handles what it asks and tells before. Raises `ProgramError`."""
        self._calls += 1
        if self._calls % _CUT_AFTER == 0 and os.fstat(self._errors.fileno()).st_size > _MOST_ERRORS:
            self._errors.truncate(0)
        if self._rest or self._poll.poll(0):
            self._refuse_early_words(call)
        self._write(call, call)
        while True:
            said = self._said(call)
            if said.ask is msgspec.UNSET and said.tell is msgspec.UNSET:
                return said
            reply = asked(said)
            if reply is not None:
                self._write(reply, call)

    def _refuse_early_words(self, call: AnyCall) -> None:
        line = self._rest or os.read(self._out, _CHUNK)
        if line:
            raise self._error(call, f"wrote {_shown(line)} before the call")
        raise self._error(call, self._ending())

    def _write(self, line: AnyCall | Reply, call: AnyCall) -> None:
        buffer = self._line
        self._encode(line, buffer)
        buffer += b"\n"
        try:
            written = self._write_some(buffer, call)
            while written < len(buffer):
                with memoryview(buffer) as whole:
                    written += self._write_some(whole[written:], call)
        except BrokenPipeError:
            raise self._error(call, self._ending()) from None

    def _write_some(self, rest: bytearray | memoryview, call: AnyCall) -> int:
        try:
            return os.write(self._in, rest)
        except BlockingIOError:
            if not self._poll_in.poll(ANSWER_WITHIN * 1000):
                raise self._error(call, f"did not read within {ANSWER_WITHIN:g} s") from None
            return 0

    def _said(self, call: AnyCall) -> Said:
        line = self._read_line(call)
        try:
            said = self._decode(line)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise self._error(call, f"wrote {_shown(line)}: {error}") from None
        if msgspec.structs.astuple(said).count(msgspec.UNSET) != _UNSET_FIELDS:
            raise self._error(call, f"wrote {_shown(line)}, which must have one of {', '.join(Said.__struct_fields__)}")
        return said

    def _read_line(self, call: AnyCall) -> bytes:
        chunk = self._rest or self._read(call)
        begun: list[bytes] = []
        length = 0
        while (end := chunk.find(b"\n")) < 0:
            begun.append(chunk)
            length += len(chunk)
            if length > MOST_LINE:
                raise self._error(call, f"wrote a line of more than {MOST_LINE >> 20} MiB")
            chunk = self._read(call)
        self._rest = chunk[end + 1 :]
        return b"".join([*begun, chunk[:end]]) if begun else chunk[:end]

    def _read(self, call: AnyCall) -> bytes:
        if not self._poll.poll(ANSWER_WITHIN * 1000):
            raise self._error(call, f"did not answer within {ANSWER_WITHIN:g} s")
        chunk = os.read(self._out, _CHUNK)
        if not chunk:
            raise self._error(call, self._ending())
        return chunk

    def _ending(self) -> str:
        """The program's end, in words."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            code = self._process.wait(_END_WITHIN)
            return f"ended by {signal.Signals(-code).name}" if code < 0 else f"ended with exit code {code}"
        return "closed its standard output"

    def _error(self, call: AnyCall, trouble: str) -> ProgramError:
        name = call.__struct_config__.tag
        return ProgramError(f"the program {self._name} {trouble} (call {name!r}){self._last_words()}")

    def _last_words(self) -> str:
        """The line of the program's standard error that says most: the last one on an error, or the very last."""
        size = self._errors.seek(0, os.SEEK_END)
        self._errors.seek(max(0, size - _LAST_WORDS))
        said = [line.strip() for line in self._errors.read().decode(errors="replace").splitlines() if line.strip()]
        errors = [line for line in said if "Error" in line]
        words = (errors or said or [""])[-1]
        return f"; its standard error says: {words}" if words else ""


def _shown(line: bytes) -> str:
    text = line[:80].decode(errors="replace").strip()
    return f"{text!r}{'...' if len(line) > 80 else ''}"


def _memory_file() -> IO[bytes]:
    """A file for the program's standard error. A container has no directory for temporary files."""
    file = os.memfd_create("standard error")
    fcntl.fcntl(file, fcntl.F_SETFL, os.O_APPEND)  # so that what is written after a cut begins at the file's begin
    return os.fdopen(file, "r+b", buffering=0)


def _die_with_parent() -> None:
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def _end(process: subprocess.Popen[bytes], errors: IO[bytes]) -> None:
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            pipe.close()
    try:
        process.wait(_END_WITHIN)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    errors.close()
