"""The answer of a command: words for people, or one JSON document for programs."""

from __future__ import annotations

from typing import Protocol, TextIO

import msgspec
import typer
from rich.console import Console


class Answer(Protocol):
    """The form of a command's output: text for people, or one JSON document."""

    @property
    def console(self) -> Console:
        """The console that text and progress are printed on."""

    def document(self, content: object) -> None:
        """Prints `content` as one JSON document if the user asked for JSON. It consists of structs, dataclasses, lists
        and other values that msgspec encodes."""


class InWords:
    """Text on the standard output."""

    def __init__(self) -> None:
        self.console = Console(highlight=False)

    def document(self, content: object) -> None:
        """Does nothing, because the same content was printed as text."""


class AsDocument:
    """A JSON document on `output`, and text on the standard error output."""

    def __init__(self, output: TextIO) -> None:
        self._output = output
        self.console = Console(highlight=False, stderr=True)

    def document(self, content: object) -> None:
        typer.echo(msgspec.json.format(msgspec.json.encode(content, enc_hook=str), indent=1), file=self._output)


IN_WORDS = InWords()
