"""The deliveries to clients: counts, ratios, gaps and delays, starts of subscriptions, and recovery from bursts."""
