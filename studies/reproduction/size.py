"""The size of a reproduction's runs beside the paper's experiment."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from analysis.claims import Recipe
from record.wording import count_of
from scenario.model import Scenario, Variant
from scenario.workload.generate import generate


@dataclass(frozen=True, slots=True)
class ScenarioSize:
    """Extents of a scenario."""

    brokers: int = 0
    """Brokers of the variant that has most."""
    publications: int = 0
    """Publications of the first variant."""
    weight: float = 0.0
    """Work of the first variant, in a unit of its own."""

    @classmethod
    def of(cls, scenario: Scenario) -> ScenarioSize:
        variants = scenario.variants()
        first = variants[0].scenario
        overlay = first.overlay()
        estimate = generate(first, overlay).estimate()
        sizes = [len(variant.scenario.overlay().brokers) for variant in _other_overlays(variants)]
        return cls(
            brokers=max([len(overlay.brokers), *sizes]),
            publications=estimate.publications,
            weight=float(estimate.publications + estimate.advertisements + len(overlay.brokers)),
        )

    def __str__(self) -> str:
        publications = f", {count_of(self.publications, 'publication')}" if self.publications else ""
        return f"{count_of(self.brokers, 'broker')}{publications}"

    def beside_the_papers(self, recipe: Recipe, resolved: Mapping[str, Any]) -> str:
        """The extents in which the scenario is smaller than the paper's experiment; empty where it is in none."""
        extents = ((name, self._extent(full.here, resolved), full.paper) for name, full in recipe.full_size.items())
        return ", ".join(f"{here:,.0f} of {paper:,.0f} {name}" for name, here, paper in extents if here < paper)

    def _extent(self, field: str, resolved: Mapping[str, Any]) -> float:
        if field in ("brokers", "publications"):
            return float(getattr(self, field))
        return max(_numbers(_found(resolved, field.split("."))))


def _other_overlays(variants: Iterable[Variant]) -> Iterator[Variant]:
    """One variant for each topology beside the first one's."""
    seen: list[object] = []
    for variant in variants:
        if variant.scenario.topology not in seen:
            if seen:
                yield variant
            seen.append(variant.scenario.topology)


def _found(resolved: Any, path: list[str]) -> Any:
    """The value at a path. A varied field has its own name with dots, so that names are joined as far as needed."""
    if not path:
        return resolved
    if isinstance(resolved, list):
        return _found(resolved[int(path[0])], path[1:])
    for length in range(1, len(path) + 1):
        if (name := ".".join(path[:length])) in resolved:
            return _found(resolved[name], path[length:])
    raise KeyError(".".join(path))


def _numbers(value: Any) -> Iterator[float]:
    """The numbers of a value, of a list of values or of a mapping from names to values."""
    if isinstance(value, Mapping):
        value = list(value.values())
    if isinstance(value, list):
        for one in value:
            yield from _numbers(one)
    else:
        yield float(value)
