"""The callback that does nothing, which stands in until another one is set."""

from __future__ import annotations


def do_nothing(*_arguments: object) -> None:
    """Does nothing, whatever it is called with."""
