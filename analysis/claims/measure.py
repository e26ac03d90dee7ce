"""A measure: the function that turns one run into a number for each part of a claim.

Terms of the papers have one meaning in all measures:

- A **mean delay** is that of first notifications, counted from the time at which a publication was due; a
  comparison of two variants takes only pairs of publication and client that both delivered.
- A **margin** (of claims of kind `order`) is positive where the statement holds, and relative, so that margins of
  different statements can be compared.
"""

from __future__ import annotations

from collections.abc import Callable

from analysis.claims.measured_run import MeasuredRun
from analysis.claims.model import Recipe
from analysis.claims.verdict import Measurement

Measure = Callable[[MeasuredRun, Recipe], Measurement]
