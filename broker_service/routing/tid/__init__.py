"""TID-based routing: adaptive content-based routing in general overlay topologies (Li, Muthusamy, Jacobsen).

`router` states the rules and handles advertisements and subscriptions; `publications` handles publications,
`forwarding` chooses their next hops (fixed or dynamic routing), `reconciliation` cleans up after restarts. `tables` and
`messages` define the data that these share.
"""

from broker_service.routing.tid.options import TidOptions
from broker_service.routing.tid.router import TidRouter

__all__ = ["TidOptions", "TidRouter"]
