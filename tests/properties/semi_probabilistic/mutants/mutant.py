"""The class of semi-probabilistic routers that are each wrong in one way."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from fractions import Fraction
from unittest import mock

from broker_service.messages import BrokerId
from broker_service.routing.interface import RouterContext
from broker_service.routing.semi_probabilistic import SemiProbabilisticOptions, SemiProbabilisticRouter
from broker_service.routing.semi_probabilistic import choice as choice_module
from broker_service.routing.semi_probabilistic.choice import Choice
from tests.properties.mutants import in_place_of

ROUTER = "broker_service.routing.semi_probabilistic.router"
Context = RouterContext[SemiProbabilisticOptions]
Chooser = Callable[[Sequence[BrokerId], Mapping[BrokerId, int], int, int, random.Random], Choice]


class Mutant(SemiProbabilisticRouter):
    """A router that is wrong in one way, and the functions that it uses in place of the right ones."""

    choose: Chooser = staticmethod(choice_module.choose)
    fanout: Callable[[Fraction, int], int] = staticmethod(choice_module.fanout)


@contextmanager
def in_place_of_the_right(variant: type[Mutant]) -> Iterator[None]:
    """All brokers run this router."""
    with (
        in_place_of("semi-probabilistic", variant),
        mock.patch.multiple(ROUTER, choose=variant.choose, fanout=variant.fanout),
    ):
        yield
