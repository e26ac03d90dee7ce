"""Examines a host, and removes from it what dead runs left."""
