"""Rows of tables and what they are made of, for tests that care about a few fields."""

from __future__ import annotations

from analysis.judging.judged import JudgedPublication
from analysis.tables.deliveries import Expectation


def expectation(**fields: object) -> Expectation:
    whole = {
        "variant": "base", "publication": "P:1", "client": "S", "right": "must", "notifications": 1, "defect": None,
        "cause": None, "publisher": "P", "published_ns": 1, "excuse": None, "evidence": None, "not_judged": None,
        "last_seen": None,
    }  # fmt: skip
    return Expectation(**(whole | fields))  # type: ignore[arg-type]


def judged(**fields: object) -> JudgedPublication:
    whole = {
        "variant": 0, "publication": "P:1", "publisher": "P", "intended": 1, "published": 1, "position": 0,
        "rejected": False, "seen_last": 1, "reached": ("B1",), "tree": None, "outcomes": [], "drops": [], "paths": [],
        "origin": "B1", "steps": [],
    }  # fmt: skip
    return JudgedPublication(**(whole | fields))  # type: ignore[arg-type]
