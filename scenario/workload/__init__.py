"""Workloads: the timed advertisements, subscriptions and publications of logical clients.

It imports none of its modules; the reason stands in `scenario`.
"""
