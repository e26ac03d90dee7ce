"""The form in which `brokerlab query` prints an answer."""

from __future__ import annotations

import enum


class Format(enum.StrEnum):
    """The forms, by their names on the command line."""

    TABLE = "table"
    CSV = "csv"
    JSON = "json"
    PARQUET = "parquet"
