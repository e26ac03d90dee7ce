"""Mistakes in the use of a command, such as a missing argument: one line, as every other mistake of a user."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import typer
from typer.core import TyperGroup

from record.errors import BadInputError


class CommandGroup(TyperGroup):
    """The program's commands. A wrong use of one of them, or of the program, raises `BadInputError`."""

    def make_context(self, *arguments: Any, **options: Any) -> Any:
        with _in_one_line():
            return super().make_context(*arguments, **options)

    def invoke(self, ctx: Any) -> Any:
        with _in_one_line():
            return super().invoke(ctx)


@contextmanager
def _in_one_line() -> Iterator[None]:
    """Turns Typer's errors into `BadInputError`. One without a text stays, because it only shows the help."""
    try:
        yield
    except typer.TyperException as error:
        message = error.format_message().strip().replace(". Did you mean", "; did you mean")
        message = message.replace("Value error, ", "")  # Typer's own checks of words are such errors
        if not message:
            raise
        context = getattr(error, "ctx", None)
        command = context.command_path if context is not None else "brokerlab"
        raise BadInputError(f"{message[0].lower()}{message[1:].rstrip('.')} (see `{command} --help`)") from error
