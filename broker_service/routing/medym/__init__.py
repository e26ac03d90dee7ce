"""MEDYM: match early with dynamic multicast (Cao, Singh: Technical Report 692-04, Princeton University, 2004).

`router` states the rules. `interests`, `locations` and `load` are what a server knows of itself and of others,
`decisions` the next hops of publications, by the functions of `multicast` over `distances`. `destination_lists` and
`messages` define the headers, `mesh` the numbers of servers.
"""

from broker_service.routing.medym.options import MedymOptions
from broker_service.routing.medym.router import MedymRouter

__all__ = ["MedymOptions", "MedymRouter"]
