"""Up to ten examples of each defect and variant, with everything that the log holds of the publication's path."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import msgspec

from analysis.judging.judged import WAY_UNKNOWN, JudgedPublication, PublicationOutcome
from analysis.tables.deliveries import Cause, Defect
from analysis.tables.summary import OVERTAKEN, Example
from analysis.tables.totals import FirstRows
from record.wording import count_of

MOST = 10
"""Examples kept of each defect and variant."""

ExampleKind = tuple[int, str]
"""The number of a variant, and the name of a defect found in it."""
ExampleKey = tuple[int, str, str]
"""The time of publishing, the publication and the client of an example."""


class FoundExample(msgspec.Struct, frozen=True):
    """An example of a defect. The examples whose publications were published first are kept."""

    variant: int
    kind: str
    published: int
    publication: str
    client: str
    encoded: str
    """The example as JSON, because a column has no fields that may be left out."""


FoundExamples = FirstRows[FoundExample]


def found_examples() -> FoundExamples:
    """An empty collection that keeps the first `MOST` examples of each defect and variant."""
    return FirstRows(FoundExample, MOST, ("variant", "kind"), ("published", "publication", "client"))


def add_example(
    examples: FoundExamples,
    judged: JudgedPublication,
    outcome: PublicationOutcome,
    defect: Defect | None,
    overtaken: bool,
) -> None:
    """Keeps the outcome of a publication for a client if it is one of the first examples of its kind."""
    kind = defect.value if defect is not None else OVERTAKEN if overtaken else None
    if kind is None:
        return
    key = -1 if judged.published is None else judged.published, judged.publication, outcome.client
    keep_example(examples, (judged.variant, kind), key, lambda: _example(judged, outcome, kind))


def keep_example(examples: FoundExamples, kind: ExampleKind, key: ExampleKey, example: Callable[[], Example]) -> None:
    """Keeps an example of a defect if its key is one of the first."""
    if examples.takes(kind, key):
        (variant, name), (published, publication, client) = kind, key
        encoded = msgspec.json.encode(example()).decode()
        examples.add(FoundExample(variant, name, published, publication, client, encoded))


def examples_of(variant: int, examples: Iterable[FoundExample]) -> list[Example]:
    """The examples of a variant, by defect, in the order of publishing."""
    return [msgspec.json.decode(found.encoded, type=Example) for found in examples if found.variant == variant]


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
            return f"notified {count_of(len(outcome.receipts), 'time')}"
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
        if (seen := outcome.last_seen or "").startswith(WAY_UNKNOWN):
            return seen
        return f"{WAY_UNKNOWN}brokers logged a sample of publications without it"
    brokers = count_of(len(judged.reached), "broker")
    return f"it arrived at {brokers}, and never at the client; last {outcome.last_seen}"
