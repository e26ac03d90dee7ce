"""Commands, links, anchors and spans of code on the documentation's pages."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md"), ROOT / "scenarios" / "README.md"])

_FENCE = re.compile(r"^ *```(\w*)\n(.*?)^ *```", re.DOTALL | re.MULTILINE)
_SHELLS = ("", "bash", "sh")
_SPAN = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")
_LINK = re.compile(r"\]\(([^)\s]+)\)")
_HEADING = re.compile(r"^#+ (.*)$", re.MULTILINE)
PROGRAM = re.compile(r"(?:[A-Z_]+=\S+ )*(?:sudo )?(?:\.venv/bin/)?(brokerlab|make|python -m) ")


@dataclass(frozen=True, slots=True)
class Command:
    """A command line that a page shows."""

    location: str
    line: str
    in_prose: bool = False
    """True in running text, where a command may be named without its arguments."""

    @property
    def words(self) -> list[str]:
        """Words from the program on, without redirections and whatever follows them."""
        begin = PROGRAM.match(self.line)
        assert begin is not None
        words = shlex.split(self.line[begin.start(1) :], comments=True)
        ends = [index for index, word in enumerate(words) if word in (">", "|", "||", "<", "&&", "&")]
        return words[: min(ends, default=None)]

    def __str__(self) -> str:
        return f"{self.location}: {self.line}"


def commands(page: Path) -> Iterator[Command]:
    """Commands in blocks and in spans of code, each once."""
    text = page.read_text(encoding="utf-8")
    prose = _FENCE.sub("", text)
    blocks = [block for language, block in _FENCE.findall(text) if language in _SHELLS]
    indented = "\n".join(line.strip() for line in prose.splitlines() if line.startswith("    "))
    spans = _SPAN.findall(" ".join(prose.split("\n")))
    lines = [line.strip() for block in (*blocks, indented) for line in block.replace("\\\n", " ").splitlines()]
    for line in dict.fromkeys((*lines, *spans)):
        if PROGRAM.match(f"{line} "):
            yield Command(str(page.relative_to(ROOT)), f"{line} ", in_prose=line not in lines)


def links(page: Path) -> Iterator[str]:
    """Links to files of this tree, with their anchors."""
    text = _SPAN.sub("", _FENCE.sub("", page.read_text(encoding="utf-8")))
    return (link for link in _LINK.findall(text) if not re.match(r"[a-z]+://", link))


def anchors(page: Path) -> frozenset[str]:
    """Anchors of a page's headings, in the form that forges give them."""
    headings = _HEADING.findall(_FENCE.sub("", page.read_text(encoding="utf-8")))
    return frozenset(re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings)


def spans(page: Path) -> Iterator[str]:
    """Spans of code in a page's running text."""
    return iter(_SPAN.findall(_FENCE.sub("", page.read_text(encoding="utf-8"))))
