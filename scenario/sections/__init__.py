"""The sections of a scenario file: their fields, units, defaults and errors."""
