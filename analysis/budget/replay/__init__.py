"""The replay of a run's log without contention: the delays that its notifications would have had."""
