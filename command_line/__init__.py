"""The command line.

`options/` declares the commands as the user types them: names, arguments, options, help; a module for each group that
belongs together. `commands/NAME.py` carries out the command NAME, and is imported when that command runs. `program`
joins the groups, `exits` turns errors into lines and exit codes.
"""

from command_line.start import main

__all__ = ["main"]
