"""The command line: what commands take, and how they end. What they do is in `emulation.commands`."""

from emulation.cli.program import app, main

__all__ = ["app", "main"]
