"""The commands as Typer declares them: names, arguments, options and help."""
