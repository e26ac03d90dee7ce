"""`digests.json`: a digest of each part of what each shipped scenario gives, to compare it with that of a later run."""

from __future__ import annotations

import hashlib
import platform
from collections.abc import Iterator
from itertools import islice, zip_longest
from pathlib import Path

import msgspec

from tests.unchanged.content import lines_of, parts_of
from tests.unchanged.shipped import CHANGES

DIGESTS = Path(__file__).with_name("digests.json")

_DIGEST_BYTES = 16
_LINES_SHOWN = 3
_CHARACTERS_SHOWN = 400


class Recorded(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The digests of one scenario or campaign."""

    changes: tuple[str, ...] = ()
    """The settings for `--set` that it was run with."""
    parts: dict[str, str]
    """The digest of each part, by the name of the part: a file, a table, or the logs together."""


class Digests(msgspec.Struct, kw_only=True):
    """`digests.json`."""

    recorded_with: dict[str, str]
    """The `surroundings` of the recording."""
    runs: dict[str, Recorded]
    """The records, by the file of the scenario or campaign as a path from the root of the repository."""


def surroundings() -> dict[str, str]:
    """The processor's kind and the version of Python, because either may change the last digit of a sum."""
    return {"machine": platform.machine(), "python": ".".join(platform.python_version_tuple()[:2])}


def read_digests() -> Digests:
    """The recorded digests; there are none as long as the file is not there."""
    if not DIGESTS.exists():
        return Digests(recorded_with=surroundings(), runs={})
    return msgspec.json.decode(DIGESTS.read_bytes(), type=Digests)


def write_digests(digests: Digests) -> None:
    digests.runs = dict(sorted(digests.runs.items()))
    DIGESTS.write_bytes(msgspec.json.format(msgspec.json.encode(digests), indent=1) + b"\n")


def digested(file: str, directory: Path) -> Recorded:
    """The digests of what `run_shipped(file, directory)` has left."""
    digests = {name: _digest(part) for name, part in parts_of(directory).items()}
    return Recorded(changes=CHANGES.get(file, ()), parts=digests)


def _digest(part: Path) -> str:
    digest = hashlib.blake2b(digest_size=_DIGEST_BYTES)
    for line in lines_of(part):
        digest.update(line.encode())
    return digest.hexdigest()


def differences(before: Recorded, now: Recorded) -> dict[str, str]:
    """The parts that differ between both, each with a remark."""
    if before.changes != now.changes:
        return {"--set": f"differs ({before.changes} before, {now.changes} now), so record this scenario again"}
    found = {}
    for name in sorted(before.parts.keys() | now.parts.keys()):
        if name not in now.parts:
            found[name] = "is gone"
        elif name not in before.parts:
            found[name] = "is new"
        elif before.parts[name] != now.parts[name]:
            found[name] = "differs"
    return found


def first_differences(before: Path, now: Path) -> Iterator[str]:
    """The first lines that differ between two parts of the same name: the earlier one's after -, the later one's
    after +."""
    pairs = zip_longest(lines_of(before), lines_of(now), fillvalue="")
    differing = ((number, *pair) for number, pair in enumerate(pairs, 1) if pair[0] != pair[1])
    for number, earlier, later in islice(differing, _LINES_SHOWN):
        yield f"line {number}"
        yield f"- {_short(earlier)}"
        yield f"+ {_short(later)}"


def _short(line: str) -> str:
    line = line.rstrip("\n")
    return line if len(line) <= _CHARACTERS_SHOWN else f"{line[:_CHARACTERS_SHOWN]} ..."
