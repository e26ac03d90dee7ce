"""The error that reports an unusable scenario."""

from __future__ import annotations

from record.errors import BadInputError


class ScenarioError(BadInputError):
    """A scenario that cannot be used. Each mistake is a line: `file:line: field: the mistake and its remedy`."""
