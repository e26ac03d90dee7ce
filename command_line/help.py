"""The end of a command's help: examples and exit codes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from record.exit_codes import ExitCode

HELP_OPTIONS = {"help_option_names": ["-h", "--help"]}
"""Context settings of every command and group."""

EXPLAINED = "brokerlab help exit-codes"
"""The command that says what exit codes mean."""
BAD_INPUT = {ExitCode.BAD_INPUT: ExitCode.BAD_INPUT.meaning}
HOST = {ExitCode.HOST: ExitCode.HOST.meaning}
INTERRUPTED = {ExitCode.INTERRUPTED: ExitCode.INTERRUPTED.meaning}
BROKER_DEFECT = {ExitCode.BROKER_DEFECT: ExitCode.BROKER_DEFECT.meaning}
VERDICTS = {
    code: code.meaning for code in (ExitCode.CORRECT, ExitCode.VIOLATED, ExitCode.INVALID, ExitCode.BROKER_DEFECT)
}


def epilog(*examples: str, codes: Mapping[ExitCode, str], note: str = "") -> str:
    """The epilog in rich's markup, with the command's exit codes and an optional note."""
    parts = [_block("Example" if len(examples) == 1 else "Examples", examples), _plain(note), exit_codes(codes)]
    return "\n\n".join(filter(None, parts))


def exit_codes(codes: Mapping[ExitCode, str]) -> str:
    """A line for each exit code that means something of its own here, and one that names the others."""
    own = [f"{code.value:<3} {meaning}" for code, meaning in sorted(codes.items()) if meaning != code.meaning]
    usual = [str(code.value) for code, meaning in sorted(codes.items()) if meaning == code.meaning]
    return _block("Exit codes", [*own, *([f"{', '.join(usual)}: `{EXPLAINED}`"] if usual else [])])


def _block(heading: str, lines: Iterable[str]) -> str:
    return "\n".join([f"[bold]{heading}[/bold]", *(f"  {_plain(line)}" for line in lines)])


def _plain(text: str) -> str:
    """The text in rich's markup, in which brackets are none."""
    return text.replace("[", "\\[")
