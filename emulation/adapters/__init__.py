"""Adapters: brokers of level 0, each a deployed system's own server with a client beside it.

`python -m emulation.adapters BROKER_JSON` runs in a broker's network. It starts the server with links along the
overlay's, and serves the client sessions of the contract (docs/broker-contract.md) by the system's client protocol:

1. A publication gets a topic from its content (`topics`), for some systems properties, too (`selectors`), and travels
   with its id in the payload.
2. A subscription is covered by a filter of the system; what the filter lets through and no client wants is dropped at
   the client and counted.
3. Readiness is the server's: clients are welcome once it has accepted the adapter's own client.

Between brokers there is the system's traffic alone.
"""
