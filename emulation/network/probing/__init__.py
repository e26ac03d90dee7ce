"""Measurements of links: probes of the requested properties (`probes`, sent by the process `prober`) within tolerances
(`tolerance`), and other hosts' clocks and probes (`echo`, and the process `responder` on each host)."""
