"""The sentences and rows of every comparison: of a run's variants, of two runs, and of a run beside its twin."""
