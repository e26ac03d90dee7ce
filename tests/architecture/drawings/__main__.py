"""Writes the drawings of docs/architecture.md from the code: `python -m tests.architecture.drawings`."""

from __future__ import annotations

from tests.architecture.drawings.files import drawings, path_of

if __name__ == "__main__":
    for name, drawing in drawings().items():
        path_of(name).write_text(drawing.text, encoding="utf-8")
        print(path_of(name))
