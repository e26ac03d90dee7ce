"""A scenario that takes milliseconds to simulate."""

from __future__ import annotations

TINY = """\
name: tiny
topology: {kind: ring, brokers: 4}
routing: {protocol: tid}
workload:
  publications: {publishers: 1, rate: 5/s}
  subscriptions: {subscribers: 2, selectivity: 40%}
timeline: {join: 2s, run: 2s, drain: 2s}
"""
