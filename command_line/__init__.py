"""The command line: what commands take, and how they end. What they do is in `command_line.commands`."""

from command_line.start import main

__all__ = ["main"]
