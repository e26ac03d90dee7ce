"""The seeds that a user asks for: a number of them, or the first and the last one."""

from __future__ import annotations

from record.errors import BadInputError

MOST_SEEDS = 1000


def chosen_seeds(asked: str | None) -> range | None:
    """Seeds from text such as `12`, which are 1 to 12, or `20..39`; None without text. Raises `BadInputError`."""
    if asked is None:
        return None
    first, dots, last = asked.partition("..")
    try:
        seeds = range(int(first), int(last) + 1) if dots else range(1, int(first) + 1)
    except ValueError:
        raise BadInputError(f"--seeds {asked}: write their number, such as 12, or 20..39 for these ones") from None
    if not 1 <= len(seeds) <= MOST_SEEDS or seeds[0] < 1:
        raise BadInputError(f"--seeds {asked}: choose 1 to {MOST_SEEDS} seeds, from 1 on")
    return seeds
