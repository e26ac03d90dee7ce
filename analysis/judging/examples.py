"""Up to ten examples of each defect and variant, with what the log knows of the publication's way."""

from __future__ import annotations

from analysis.judging.judging import Judged, Outcome
from analysis.tables.summary import OVERTAKEN, Example
from analysis.tables.tables import Defect

MOST = 10
"""Of each defect and variant."""

_Place = tuple[int, str, str]
"""Time of publishing, publication, client."""


class FoundExamples:
    """Keeps the examples whose publications were published first."""

    def __init__(self) -> None:
        self._found: dict[tuple[int, str], dict[_Place, Example]] = {}

    def add(self, one: Judged, outcome: Outcome, defect: Defect | None, overtaken: bool) -> None:
        """Takes note of what a publication came to for a client, if that is worth an example."""
        named = defect.value if defect is not None else OVERTAKEN if overtaken else None
        if named is None:
            return
        kept = self._found.setdefault((one.variant, named), {})
        place = -1 if one.published is None else one.published, one.publication, outcome.client
        if len(kept) < MOST or place < max(kept):
            kept[place] = _example(one, outcome, named)
            _keep_first(kept)

    def merge(self, other: FoundExamples) -> None:
        for key, found in other._found.items():
            kept = self._found.setdefault(key, {})
            kept |= found
            _keep_first(kept)

    def of(self, variant: int) -> list[Example]:
        """Of a variant, by defect, in the order of time."""
        keys = sorted(key for key in self._found if key[0] == variant)
        return [example for key in keys for _, example in sorted(self._found[key].items())]


def _keep_first(kept: dict[_Place, Example]) -> None:
    for place in sorted(kept)[MOST:]:
        del kept[place]


def _example(one: Judged, outcome: Outcome, named: str) -> Example:
    taken = [list(receipt.path) for receipt in outcome.receipts if receipt.path is not None]
    return Example(
        defect=named,
        publication=one.publication,
        client=outcome.client,
        publisher=one.publisher,
        published_ns=one.published,
        detail=_detail(one, outcome, named),
        reached=list(one.reached),
        paths=taken if outcome.receipts else [list(way) for way in one.ways],
    )


def _detail(one: Judged, outcome: Outcome, named: str) -> str:
    match named:
        case Defect.LOST:
            return _where_it_ended(one)
        case Defect.DUPLICATED:
            return f"notified {len(outcome.receipts)} times"
        case Defect.SPURIOUS:
            return str(outcome.cause)
        case _:
            return "a later publication of the same publisher reached the client before"


def _where_it_ended(one: Judged) -> str:
    if one.rejected:
        return "its broker refused the publication, which conforms to an advertisement of its client"
    if not one.reached:
        return "no broker received the publication"
    if one.drops:
        return f"dropped at {'; '.join(one.drops)}"
    return f"it arrived at {len(one.reached)} broker(s), and never at the client"
