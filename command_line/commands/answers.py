"""The answer of a command: words for people, or one JSON document for programs."""

from __future__ import annotations

from typing import Protocol

import msgspec
import typer
from rich.console import Console


class Answer(Protocol):
    """The form in which a command answers."""

    @property
    def console(self) -> Console:
        """The place of words, and of progress."""

    def document(self, content: object) -> None:
        """Prints the whole answer, where it is asked for as a document: structs, dataclasses, lists and such."""


class InWords:
    """Words on the standard output."""

    def __init__(self) -> None:
        self.console = Console(highlight=False)

    def document(self, content: object) -> None:
        """Does nothing, because the words were printed."""


class AsDocument:
    """A document on the standard output, and words on the standard error output."""

    def __init__(self) -> None:
        self.console = Console(highlight=False, stderr=True)

    def document(self, content: object) -> None:
        typer.echo(msgspec.json.format(msgspec.json.encode(content, enc_hook=str), indent=1))


IN_WORDS = InWords()
