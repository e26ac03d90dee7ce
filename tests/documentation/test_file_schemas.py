"""The schemas that editors are given are those of the models."""

from __future__ import annotations

from tests.documentation.file_schemas import schemas


def test_the_schemas_are_those_of_the_models() -> None:
    for file, text in schemas():
        assert file.read_text(encoding="utf-8") == text, "run: python -m tests.documentation.file_schemas"
