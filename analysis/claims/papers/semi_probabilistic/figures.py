"""Quantities of the figures of the paper on semi-probabilistic routing (section 4), as its measures define them."""

from __future__ import annotations

from collections.abc import Mapping

from analysis.claims.papers.semi_probabilistic.routes import deterministic
from analysis.claims.papers.semi_probabilistic.variants import messages
from analysis.claims.quantities import Quantity, of_variant

QUANTITIES: Mapping[str, Quantity] = {
    "messages of a published run": of_variant("messages of 9,957 events", messages),
    "deterministic hops": of_variant("deterministic share of hops", deterministic),
}
"""Quantities by the names that figures use."""
