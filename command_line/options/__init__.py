"""Declarations of the commands for Typer: names, arguments, options and help."""
