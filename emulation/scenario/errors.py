"""What can be wrong with a scenario."""

from __future__ import annotations

from record.errors import BadInputError


class ScenarioError(BadInputError):
    """A scenario that cannot be used; one line a mistake: `file:line: field: what is wrong and what would be right`."""
