"""OctopiA: routing by subscription subgrouping on a structured cyclic overlay topology (Shafique).

`router` has the rules, advertisements and subscriptions, `publications` a publication's way through a broker,
`forwarding` static publication routing (SPR), `dynamic` inter-cluster dynamic routing (IDR), `detours` what goes beyond
the paper. `neighbourhood`, `vector`, `tables` and `messages` are the words they share.
"""

from broker_service.routing.octopia.options import OctopiaOptions
from broker_service.routing.octopia.router import OctopiaRouter

__all__ = ["OctopiaOptions", "OctopiaRouter"]
