"""MEDYM: match early with dynamic multicast (Cao, Singh: Technical Report 692-04, Princeton University, 2004).

`router` states the rules. `subscriptions` holds what servers want, `locations` how far they are from each other, and
`announcements` how all servers learn both; `multicast` decides the next hops of publications. `messages` defines the
headers of control messages, `sums` the sums of subscriptions as values, `mesh` the numbers of servers.
"""

from broker_service.routing.medym.options import MedymOptions
from broker_service.routing.medym.router import MedymRouter

__all__ = ["MedymOptions", "MedymRouter"]
