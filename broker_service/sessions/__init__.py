"""The state of clients' sessions: queued events, held requests, and progress through publications."""
