"""The end of the program: each error becomes one line for the user, and each kind of end has its exit code."""

from __future__ import annotations

import errno
import os
import sys
import traceback

import typer

from record.errors import BrokerDefectError, UserError
from record.exit_codes import ExitCode
from record.extras import about_missing

_LONGEST_LINE = 1000
"""Characters of a line: what the user gave is repeated in messages, and may have any length."""
_REFUSALS = {
    errno.ENOSPC: "no space is left on the disk; make room, or choose another place",
    errno.EDQUOT: "the disk quota is used up; make room, or choose another place",
    errno.EROFS: "the file system is read-only; choose another place",
    errno.EACCES: "permission denied; choose another place, or run this as its owner or as root",
    errno.EPERM: "not permitted; run this as root, or with sudo",
    errno.EMFILE: "too many open files; raise the limit (`ulimit -n`), or make the scenario smaller",
    errno.ENFILE: "this host has too many open files; end what holds them",
    errno.ENOMEM: "this host has no memory left; end what holds it, or make the scenario smaller",
    errno.ENAMETOOLONG: "the name is too long",
    errno.EEXIST: "something else of this name is in the way; move it, or choose another place",
    errno.ENOTDIR: "a part of this path is not a directory",
    errno.EISDIR: "this is a directory, but a file is needed",
}
"""Remedies for errors of any operation on files. Code that knows more about one raises its own `UserError`."""


def ending(error: BaseException) -> int:
    """Prints the reason for the end, unless it is printed already; returns the exit code."""
    if _nobody_reads(error):
        return ExitCode.BROKEN_PIPE
    if isinstance(error, SystemExit) and not _interrupted(error):
        return error.code if isinstance(error.code, int) else ExitCode.CORRECT
    message, code = _in_words(error)
    message = "\n".join(map(_clipped, message.splitlines()))
    typer.secho(f"brokerlab: {message}", err=True, fg=typer.colors.RED if sys.stderr.isatty() else None)
    return code


def write_out(code: int) -> int:
    """Flushes the output and returns the exit code, because the interpreter's own error at its end names no remedy."""
    try:
        sys.stdout.flush()
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        error.filename = "standard output"
        return ending(error)
    return code


def _clipped(line: str) -> str:
    return line if len(line) <= _LONGEST_LINE else f"{line[:_LONGEST_LINE]}..."


def _nobody_reads(error: BaseException) -> bool:
    """True when the output was closed: Rich and Typer then exit with 1, which is another code's meaning here."""
    closed = error.__context__ if isinstance(error, SystemExit) and error.code == 1 else error
    return isinstance(closed, BrokenPipeError)


def _interrupted(error: BaseException) -> bool:
    """True for a Ctrl-C that no command has handled: Typer turns it into an exit code."""
    cause = error.__context__.__cause__ if isinstance(error, SystemExit) and error.__context__ else error
    return isinstance(cause, KeyboardInterrupt)


def _in_words(error: BaseException) -> tuple[str, int]:
    if _interrupted(error):
        return "interrupted", ExitCode.INTERRUPTED
    if isinstance(error, UserError):
        return str(error), error.exit_code
    if isinstance(error, BrokerDefectError):
        print(error.shown_trace, end="", file=sys.stderr)
        return str(error), ExitCode.BROKER_DEFECT
    if (lack := _lack_of_host(error)) is not None:
        return lack, ExitCode.HOST
    traceback.print_exception(error)
    return "a fault of the program, not of its input; please report it with the lines above", ExitCode.DEFECT


def _lack_of_host(error: BaseException) -> str | None:
    """The sentence about what this host lacks; None for an error of another cause."""
    if isinstance(error, ImportError):
        return about_missing(error)
    if isinstance(error, MemoryError):
        return _REFUSALS[errno.ENOMEM]
    if isinstance(error, OSError) and error.errno in _REFUSALS:
        names = [str(name) for name in (error.filename, error.filename2) if name is not None]
        return ": ".join([*names, _REFUSALS[error.errno]])
    return None
