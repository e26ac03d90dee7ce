"""The end of a command's help: examples and exit codes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from record.exit_codes import ExitCode

HELP_OPTIONS = {"help_option_names": ["-h", "--help"]}
"""Context settings of every command and group."""

BAD_INPUT = {ExitCode.BAD_INPUT: ExitCode.BAD_INPUT.meaning}
HOST = {ExitCode.HOST: ExitCode.HOST.meaning}
INTERRUPTED = {ExitCode.INTERRUPTED: ExitCode.INTERRUPTED.meaning}
VERDICTS = {code: code.meaning for code in (ExitCode.CORRECT, ExitCode.VIOLATED, ExitCode.INVALID)}


def epilog(*examples: str, codes: Mapping[ExitCode, str], note: str = "") -> str:
    """The epilog in rich's markup, with the command's exit codes and an optional note."""
    parts = [_block("Example" if len(examples) == 1 else "Examples", examples), note, exit_codes(codes)]
    return "\n\n".join(filter(None, parts))


def exit_codes(codes: Mapping[ExitCode, str]) -> str:
    """One line for each exit code."""
    return _block("Exit codes", (f"{code.value:<3} {meaning}" for code, meaning in sorted(codes.items())))


def _block(heading: str, lines: Iterable[str]) -> str:
    return "\n".join([f"[bold]{heading}[/bold]", *(f"  {line}".replace("[", "\\[") for line in lines)])
