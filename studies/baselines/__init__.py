"""Baselines: figures of runs that later runs of the same plan are held against, in small text files."""
