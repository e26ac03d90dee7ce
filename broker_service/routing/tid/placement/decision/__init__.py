"""Decision where a unit is detected: the destinations of least cost (`choice`), by the costs of flows (`cost`) with
brokers' times (`measurement`, `queueing`; sections 4.2 and 4.3). `explanation` shows it to people."""
