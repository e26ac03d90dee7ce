"""TID-based routing: adaptive content-based routing in general overlay topologies (Li, Muthusamy, Jacobsen).

`router` has the rules, advertisements and subscriptions, `publications` a publication's way through a broker,
`forwarding` fixed and dynamic routing, `reconciliation` what follows a restart. `tables` and `messages` are the words
they share.
"""

from broker_service.routing.tid.options import TidOptions
from broker_service.routing.tid.router import TidRouter

__all__ = ["TidOptions", "TidRouter"]
