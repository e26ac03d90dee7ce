"""Predictions: the processors, the memory and the time that a run will take, from a short rehearsal in virtual time."""
