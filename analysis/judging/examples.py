"""Up to ten examples of each defect and variant, with everything that the log holds of the publication's path."""

from __future__ import annotations

from collections.abc import Callable

from analysis.judging.judged import JudgedPublication, PublicationOutcome
from analysis.tables.deliveries import Cause, Defect
from analysis.tables.summary import OVERTAKEN, Example

MOST = 10
"""Examples kept of each defect and variant."""

ExampleKey = tuple[int, str, str]
"""Time of publishing, publication, client."""


class FoundExamples:
    """Keeps the examples whose publications were published first."""

    def __init__(self) -> None:
        self._found: dict[tuple[int, str], dict[ExampleKey, Example]] = {}

    def add(
        self, judged: JudgedPublication, outcome: PublicationOutcome, defect: Defect | None, overtaken: bool
    ) -> None:
        """Keeps the outcome of a publication for a client if it is one of the first examples of its kind."""
        kind = defect.value if defect is not None else OVERTAKEN if overtaken else None
        if kind is None:
            return
        key = -1 if judged.published is None else judged.published, judged.publication, outcome.client
        self.keep(judged.variant, kind, key, lambda: _example(judged, outcome, kind))

    def keep(self, variant: int, kind: str, key: ExampleKey, example: Callable[[], Example]) -> None:
        """Keeps an example of a defect of this kind if its key is one of the first."""
        kept = self._found.setdefault((variant, kind), {})
        if len(kept) < MOST or key < max(kept):
            kept[key] = example()
            _keep_first(kept)

    def merge(self, other: FoundExamples) -> None:
        for kind, found in other._found.items():
            kept = self._found.setdefault(kind, {})
            kept |= found
            _keep_first(kept)

    def of(self, variant: int) -> list[Example]:
        """The examples of a variant, by defect, in the order of publishing."""
        kinds = sorted(kind for kind in self._found if kind[0] == variant)
        return [example for kind in kinds for _, example in sorted(self._found[kind].items())]


def _keep_first(kept: dict[ExampleKey, Example]) -> None:
    for key in sorted(kept)[MOST:]:
        del kept[key]


def _example(judged: JudgedPublication, outcome: PublicationOutcome, kind: str) -> Example:
    taken = [list(receipt.path) for receipt in outcome.receipts if receipt.path is not None]
    return Example(
        defect=kind,
        publication=judged.publication,
        client=outcome.client,
        publisher=judged.publisher,
        published_ns=judged.published,
        detail=_detail(judged, outcome, kind),
        reached=list(judged.reached),
        paths=taken if outcome.receipts else [list(path) for path in judged.paths],
    )


def _detail(judged: JudgedPublication, outcome: PublicationOutcome, kind: str) -> str:
    match kind:
        case Defect.LOST:
            return _where_it_ended(judged, outcome)
        case Defect.DUPLICATED:
            return f"notified {len(outcome.receipts)} times"
        case Defect.SPURIOUS:
            return str(outcome.cause)
        case _:
            return "a later publication of the same publisher reached the client before"


def _where_it_ended(judged: JudgedPublication, outcome: PublicationOutcome) -> str:
    ended = _last_seen(judged, outcome)
    if outcome.cause is Cause.GAP:
        return f"a later publication of its publisher came, and its subscription had started; {ended}"
    if outcome.cause is Cause.STARTED:
        return f"its subscription had started; {ended}"
    return ended


def _last_seen(judged: JudgedPublication, outcome: PublicationOutcome) -> str:
    if judged.rejected:
        return "its broker refused the publication, which conforms to an advertisement of its client"
    if not judged.reached and judged.logged:
        return "no broker received the publication"
    if judged.drops:
        return f"dropped at {'; '.join(judged.drops)}"
    if not judged.logged:
        return "its way is unknown, because brokers logged a sample of publications without it"
    return f"it arrived at {len(judged.reached)} broker(s), and never at the client; last {outcome.last_seen}"
