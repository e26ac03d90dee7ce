"""Words for targets of faults: what each text consists of, and the error for one that names nothing."""

from __future__ import annotations

import re
from dataclasses import dataclass

_CALL = re.compile(r"([a-z-]+)\((.*)\)")


class TargetError(ValueError):
    """A text that does not name a broker or link of the overlay; the message is for the user."""

    def __init__(self, message: str, field: str = "") -> None:
        """`field` has the text, where that is another one than the fault's verb."""
        super().__init__(message)
        self.field = field


@dataclass(frozen=True, slots=True)
class Call:
    """`word(argument)`, or a word alone."""

    word: str
    argument: str | None

    @classmethod
    def of(cls, text: str) -> Call:
        match = _CALL.fullmatch(text.strip())
        return cls(text.strip(), None) if match is None else cls(match[1], match[2].strip())

    def count(self) -> int:
        """The argument as a number, 1 without one. Raises `TargetError`."""
        if self.argument is None:
            return 1
        if not (self.argument.isascii() and self.argument.isdigit() and int(self.argument) > 0):
            raise TargetError(f"{self.word}({self.argument}): how many is a number from 1, such as {self.word}(2)")
        return int(self.argument)
