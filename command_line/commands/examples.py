"""`brokerlab examples`: the scenarios, campaigns and conformance cases that come with brokerlab, and copies of them."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec
from rich.console import Console
from rich.table import Table
from rich.text import Text

from record.errors import BadInputError
from record.exit_codes import ExitCode
from scenario.shipped import Example, directories, examples

Show = Callable[[Sequence[Example]], None]


def list_examples(show: Show) -> ExitCode:
    """Shows all of them."""
    show([*examples("scenario"), *examples("campaign"), *examples("case file")])
    return ExitCode.CORRECT


def as_table(found: Sequence[Example]) -> None:
    """Prints a table for each kind."""
    console = Console(highlight=False)
    for kind, command in (("scenario", "emulate"), ("campaign", "campaign"), ("case file", "conformance")):
        table = Table(box=None, pad_edge=False, title=f"{kind}s: brokerlab {command} NAME", title_justify="left")
        table.add_column("name", no_wrap=True)
        table.add_column("subject")
        for example in found:
            if example.kind == kind:
                table.add_row(Text(example.name), Text(example.subject))
        console.print(table)


def as_json(found: Sequence[Example]) -> None:
    """Prints a list of objects."""
    rows = [{"kind": each.kind, "name": each.name, "file": str(each.file), "subject": each.subject} for each in found]
    print(msgspec.json.format(msgspec.json.encode(rows)).decode())


def copy_examples(target: Path) -> ExitCode:
    """Copies scenarios, campaigns and schemas. Raises `BadInputError` rather than replace what is there."""
    for source in directories():
        if (target / source.name).exists():
            raise BadInputError(f"--copy {target}: {target / source.name} exists already; choose another directory")
    for source in directories():
        shutil.copytree(source, target / source.name)
        print(target / source.name)
    return ExitCode.CORRECT
