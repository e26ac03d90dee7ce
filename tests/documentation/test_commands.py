"""Every command on a page or in a `--help` can be given: its options, files and settings exist."""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
import typer

from analysis.claims import load_claims
from command_line.program import app
from scenario.loading import load
from studies.campaign.model import load_campaign
from tests.documentation.markdown import PAGES, ROOT, Command, commands

CLI: Any = typer.main.get_command(app)
OURS = ("scenarios/", "campaigns/", "tests/", "docs/")
"""Directories whose files must exist if a command names them; all other names are placeholders for the reader's."""
UNFINISHED = frozenset({"MissingParameter", "BadOptionUsage", "NoArgsIsHelpError"})
"""Errors that the command line raises about a command or an option without its argument."""
TARGETS = frozenset(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))


def helps(command: Any, name: str) -> Iterator[Command]:
    """The examples at the end of each command's help."""
    for line in (command.epilog or "").splitlines():
        if line.strip().startswith("brokerlab "):
            yield Command(f"{name} --help", f"{line.strip()} ")
    for word, inner in getattr(command, "commands", {}).items():
        yield from helps(inner, f"{name} {word}")


FOUND = (*(command for page in PAGES for command in commands(page)), *helps(CLI, "brokerlab"))
SHOWN = [command for command in FOUND if "..." not in command.line]
"""Commands that are shown in full."""


def parsed(words: Sequence[str]) -> tuple[str, dict[str, Any]]:
    """A command of `brokerlab` and its parameters. Raises the errors of the command line for unknown ones."""
    command, name, rest = CLI, "brokerlab", list(words)
    while rest and rest[0] in getattr(command, "commands", {}):
        name = rest.pop(0)
        command = command.commands[name]
    context = command.make_context(name, [re.sub(r"^\[(.*)\]$", r"\1", word) for word in rest])
    return name, context.params


def require_files(words: Sequence[str]) -> None:
    for word in words:
        path = word.rpartition("=")[2].partition(" ")[0]
        if path.startswith(OURS):
            assert any(ROOT.glob(path)), f"{path} does not exist"


def check_brokerlab(words: Sequence[str], *, in_prose: bool) -> None:
    try:
        name, given = parsed(words)
    except BaseException as error:
        if in_prose and type(error).__name__ in UNFINISHED:
            return
        raise
    scenario = Path(str(given.get("scenario")))
    if name == "emulate" and (ROOT / scenario).is_file():
        load(ROOT / scenario, dict(setting.split("=", 1) for setting in given["set_"] or ()))
    if name == "campaign" and (ROOT / given["file"]).is_file():
        load_campaign(ROOT / given["file"])
    if name == "reproduce":
        known = [claim.id for claim in load_claims().claims]
        for wanted in given["claims"] or ():
            assert any(claim.startswith(wanted) for claim in known) or wanted.startswith("<"), wanted


def check_make(words: Sequence[str]) -> None:
    settings = [word for word in words if "=" in word]
    assert {word.partition("=")[0] for word in settings} <= {"SCENARIO", "ARGS"}
    assert {word for word in words if word not in settings} <= TARGETS


@pytest.mark.parametrize("command", SHOWN, ids=str)
def test_a_command_can_be_given(command: Command) -> None:
    words = command.words
    require_files(words)
    match words:
        case ["brokerlab", "--help" | "--version" | "-h"] | ["brokerlab"] | ["make"]:
            pass
        case ["brokerlab", *rest] if "--help" not in rest:
            check_brokerlab(rest, in_prose=command.in_prose)
        case ["make", "before", "break"]:  # a handover
            pass
        case ["make", *rest]:
            check_make(rest)
        case ["python", "-m", module, *_]:
            assert importlib.util.find_spec(module) is not None


def test_commands_are_found() -> None:
    """Commands are extracted from blocks, spans, tables and help."""
    lines = {command.line.strip() for command in SHOWN}
    assert "brokerlab emulate scenarios/quickstart.yaml --runtime simulated --no-spark" in lines
    assert "make test-fast" not in lines
    assert {command.words[0] for command in SHOWN} == {"brokerlab", "make", "python"}
    assert len(lines) > 100


@pytest.mark.parametrize(
    "line",
    [
        "brokerlab emulate scenarios/no-such-scenario.yaml",
        "brokerlab emulate scenarios/smoke.yaml --no-such-option",
        "brokerlab emulate scenarios/smoke.yaml --set timeline.rum=3s",
        "brokerlab reproduce no-such-claim",
        "make no-such-target",
        "python -m analysis.no_such_module",
    ],
)
def test_a_command_that_cannot_be_given_is_found(line: str) -> None:
    with pytest.raises(BaseException) as failure:
        test_a_command_can_be_given(Command("here", f"{line} "))
    assert isinstance(failure.value, Exception)
