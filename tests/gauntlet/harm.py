"""Harm that a change of the product does, computed without the judge: from the raw logs of the clients' drivers.

Two runs of one calm scenario, honest and changed, are compared notification by notification. A change is harmful where
the set, the number, the size of the content, or the promised order of (client, publication) differs. Left out are
pairs that a subscription in transition decides: of a client that subscribes or unsubscribes less than a second before
publishing begins, or later, and of a publication made within `SETTLED` of that.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SETTLED = 2_500_000_000
"""Nanoseconds after an operation of a client from which on its effect must be complete, whatever the protocol."""
_BEFORE = 200_000_000
"""Nanoseconds before an operation in which a publication may be in flight when it is made."""
_TO_SETTLE = 1_000_000_000
"""Nanoseconds before publishing in which what was declared before settles, on short links."""
_CHANGES = frozenset({"subscribe", "unsubscribe", "compose"})


@dataclass(frozen=True, slots=True)
class Notifications:
    """Notifications of settled subscriptions, as the drivers logged them."""

    counts: Mapping[tuple[str, str, int], int]
    """Number of notifications by client, publication (or set of them), and size of the content."""
    orders: Mapping[tuple[str, str], tuple[str, ...]]
    """Publications of one publisher in the order in which a client was notified of them."""

    @classmethod
    def of(cls, run: Path, until: int | None = None) -> Notifications:
        """Reads the notifications of a run directory, of publications made before the time `until`, in nanoseconds of
        the run's clock."""
        settled = begin_of_publishing(run) - _TO_SETTLE
        published: dict[str, int] = {}
        changed: defaultdict[str, list[int]] = defaultdict(list)
        notified: list[Mapping[str, Any]] = []
        for record in _of_clients(run):
            if record["event"] == "publish":
                published[record["id"]] = record["time"]
            elif record["event"] in _CHANGES and record["time"] > settled:
                changed[record["client"]].append(record["time"])
            elif record["event"] == "notified":
                notified.append(record)
        counts: Counter[tuple[str, str, int]] = Counter()
        orders: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
        for record in sorted(notified, key=lambda one: int(one["time"])):
            ids = record.get("publications") or [record["id"]]
            client, times = record["client"], [published.get(id, 0) for id in ids]
            if until is not None and max(times) >= until:
                continue
            if any(at - _BEFORE < time < at + SETTLED for at in changed[client] for time in times):
                continue
            counts[client, " & ".join(sorted(ids)), record.get("bytes") or 0] += 1
            if len(ids) == 1:
                orders[client, ids[0].partition(":")[0]].append(ids[0])
        return cls(counts, {key: tuple(ids) for key, ids in orders.items()})

    def harm(self, honest: Notifications, *, ordered: bool) -> str:
        """The first difference from the honest run, in words; empty for none."""
        for client, publication, size in sorted(self.counts.keys() | honest.counts.keys()):
            key = client, publication, size
            here, there = self.counts.get(key, 0), honest.counts.get(key, 0)
            if here != there:
                return f"{client} got {publication} ({size} bytes) {here} times instead of {there}"
        if ordered:
            for (client, publisher), ids in honest.orders.items():
                if self.orders.get((client, publisher)) != ids:
                    return f"{client} got the publications of {publisher} in another order"
        return ""


def _of_clients(run: Path) -> Iterator[Mapping[str, Any]]:
    for node in ("publishers", "subscribers"):
        file = run / "logs" / f"{node}.jsonl"
        if file.exists():
            yield from map(json.loads, file.read_bytes().splitlines())


def promises_order(run: Path) -> bool:
    """True when the routing of a run promises an order of notifications."""
    manifest = json.loads((run / "manifest.json").read_bytes())
    return manifest["variants"][0]["promises"].get("order", "none") != "none"


def begin_of_publishing(run: Path) -> int:
    """The time of a run at which its join phase ended, nanoseconds."""
    manifest = json.loads((run / "manifest.json").read_bytes())
    phases = manifest["variants"][0]["phases"]
    return next(int(phase["start"]) for phase in phases if phase["name"] == "run")
