"""Journeys of publications: their paths over brokers, the work of routers, and the use of the network below."""
