"""Held runs: what users ask of a run that stays, and how it reaches the process that supervises the run."""
