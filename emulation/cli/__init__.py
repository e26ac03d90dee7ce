"""The command line: what commands take, and how they end. What they do is in `emulation.commands`."""

from emulation.cli.start import main

__all__ = ["main"]
