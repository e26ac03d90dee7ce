"""The deliveries to clients: counts, ratios and gaps, starts of subscriptions, and recovery from bursts."""
