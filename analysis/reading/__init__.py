"""Log records turned into typed events and histories, in the scenario's time."""
