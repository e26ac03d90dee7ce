"""Reading of the descriptions of load that a run has left, one for each variant."""

from __future__ import annotations

from pathlib import Path

import msgspec

from record.errors import RunDirectoryError
from record.files import LOADS, read_file
from record.load import Load


def read_loads(directory: Path) -> list[Load]:
    """The load of each variant; none for a run of an earlier version. Raises `RunDirectoryError` for a damaged file."""
    loads = []
    for file in sorted((directory / LOADS).glob("*.json"), key=lambda file: (len(file.name), file.name)):
        try:
            loads.append(msgspec.json.decode(read_file(file), type=Load))
        except OSError as error:
            raise RunDirectoryError(f"{file}: {error.strerror}") from error
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise RunDirectoryError(f"{file}: {error}") from error
    return loads
