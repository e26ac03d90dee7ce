"""Scenarios: one YAML file an experiment.

It imports none of its rooms, because drivers of a run need the operations of clients and nothing else of a scenario.
"""
