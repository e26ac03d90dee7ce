"""The scenarios, campaigns and conformance cases that come with brokerlab, by name: `quickstart`, `tid/tid-5a`."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from typing import Literal

from record.errors import BadInputError
from record.installation import FILES
from record.wording import count_of
from scenario.sections.section import suggestion
from scenario.yaml_files.source import read

Kind = Literal["scenario", "campaign", "case file"]

_DIRECTORIES: dict[Kind, Path] = {
    "scenario": FILES / "scenarios",
    "campaign": FILES / "campaigns",
    "case file": FILES / "tests" / "conformance",
}
_ENDINGS = {".yaml", ".json"}
_SCHEMAS = FILES / "schemas"
_SCHEMA = "# yaml-language-server:"
"""The beginning of the comment that names a file's schema to editors."""
_SENTENCE = re.compile(r".*?(?<!Fig)[.?](?= |$)")


@dataclass(frozen=True, slots=True)
class Example:
    """A shipped file."""

    kind: Kind
    name: str
    file: Path
    subject: str
    """The first sentence of the comment at its top, or of its description; of cases, their number."""


def examples(kind: Kind) -> Iterator[Example]:
    """All shipped files of a kind, those of the top directory first."""
    directory = _DIRECTORIES[kind]
    found = (file for file in directory.rglob("*") if file.suffix in _ENDINGS)
    files = sorted(found, key=lambda file: (len(file.relative_to(directory).parts), file))
    for file in files:
        yield Example(kind, file.relative_to(directory).with_suffix("").as_posix(), file, _subject(file))


def file_of(given: Path, kind: Kind) -> Path:
    """The file that a user means: a path, or the name of a shipped file where no file has this path.

    Raises `BadInputError` for a name that is neither.
    """
    if given.suffix or given.exists():
        return given
    found = {example.name: example.file for example in examples(kind)}
    if given.as_posix() not in found:
        raise BadInputError(
            f"{given}: there is no such file, and no {kind} of this name comes with brokerlab (`brokerlab examples`)"
            f"{suggestion(given.as_posix(), found)}"
        )
    return found[given.as_posix()]


def directories() -> tuple[Path, ...]:
    """The directories that hold the shipped scenarios and campaigns, and the schemas that these name."""
    return _DIRECTORIES["scenario"], _DIRECTORIES["campaign"], _SCHEMAS


def _subject(file: Path) -> str:
    if file.suffix == ".json":
        cases = json.loads(file.read_text(encoding="utf-8"))
        first = cases[0]
        return f"{count_of(len(cases), 'case')} " + (
            f"from {first['id']} on" if "id" in first else f"of the relation `{first['relation']}`"
        )
    lines = [line for line in file.read_text(encoding="utf-8").splitlines() if not line.startswith(_SCHEMA)]
    comments = [line.removeprefix("# ").strip() for line in takewhile(lambda line: line.startswith("# "), lines)]
    text = " ".join(comments) or str(read(file).data["description"])
    sentence = _SENTENCE.match(text)
    return (sentence[0] if sentence else text).removesuffix(".")
