"""Semi-probabilistic routing (P. Costa, G. P. Picco, "Semi-probabilistic content-based publish-subscribe", 2005)."""

from broker_service.routing.semi_probabilistic.late_router import semi_probabilistic_router
from broker_service.routing.semi_probabilistic.options import SemiProbabilisticOptions
from broker_service.routing.semi_probabilistic.router import SemiProbabilisticRouter

__all__ = ["SemiProbabilisticOptions", "SemiProbabilisticRouter", "semi_probabilistic_router"]
