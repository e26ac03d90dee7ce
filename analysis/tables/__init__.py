"""The tables and the summary that an analysis writes: their rows, their schema and their files."""
