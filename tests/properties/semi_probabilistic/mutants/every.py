"""Every broken semi-probabilistic router, by its name.

Each is wrong in one way, to see that the cases notice.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import ModuleType

from tests.properties.semi_probabilistic.mutants import choice, events, subscriptions, times_to_live
from tests.properties.semi_probabilistic.mutants.mutant import Mutant


def _defined_in(module: ModuleType) -> Iterator[type[Mutant]]:
    """The module's own variants, but for those that only others derive from."""
    for name, value in vars(module).items():
        if isinstance(value, type) and value.__module__ == module.__name__ and not name.startswith("_"):
            assert issubclass(value, Mutant)
            yield value


MUTANTS: Mapping[str, type[Mutant]] = {
    variant.__name__: variant
    for module in (events, choice, subscriptions, times_to_live)
    for variant in _defined_in(module)
}
