"""Semi-probabilistic routing (P. Costa, G. P. Picco, "Semi-probabilistic content-based publish-subscribe", 2005)."""

from broker_service.routing.interface import RouterContext
from broker_service.routing.semi_probabilistic.late_router import LateRouter
from broker_service.routing.semi_probabilistic.options import SemiProbabilisticOptions
from broker_service.routing.semi_probabilistic.router import SemiProbabilisticRouter

__all__ = ["SemiProbabilisticOptions", "SemiProbabilisticRouter", "semi_probabilistic_router"]


def semi_probabilistic_router(context: RouterContext[SemiProbabilisticOptions]) -> SemiProbabilisticRouter:
    """The router that a broker's options ask for."""
    return LateRouter(context) if context.options.noticed_after else SemiProbabilisticRouter(context)
