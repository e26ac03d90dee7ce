"""OctopiA: routing by subscription subgrouping on a structured cyclic overlay topology (Shafique).

`router` states the rules and handles advertisements and subscriptions; `publications` handles publications,
`forwarding` is static publication routing (SPR), `dynamic` inter-cluster dynamic routing (IDR), `detours` goes beyond
the paper. `neighbourhood`, `vector`, `tables` and `messages` define the data that these share.
"""

from broker_service.routing.octopia.options import OctopiaOptions
from broker_service.routing.octopia.router import OctopiaRouter

__all__ = ["OctopiaOptions", "OctopiaRouter"]
