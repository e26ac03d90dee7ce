"""JSON Schemas of scenarios, campaigns and conformance cases, as files that editors find.

python -m tests.documentation.file_schemas     # writes schemas/*.schema.json anew
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from command_line.commands.schema import KINDS, schema_text

FOLDER = Path(__file__).parents[2] / "schemas"


def schemas() -> Iterator[tuple[Path, str]]:
    """The files and their texts."""
    return ((FOLDER / f"{kind}.schema.json", schema_text(kind)) for kind in KINDS)


if __name__ == "__main__":
    for file, text in schemas():
        file.write_text(text, encoding="utf-8")
