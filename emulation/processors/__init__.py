"""The sampler of processors: a `process` of its own that reads how long the threads of brokers, drivers and relay ran
and waited for a processor (`threads`, `discovery`)."""
