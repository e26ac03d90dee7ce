"""Detours between neighbouring brokers whose link is down, over brokers that can reach both. The paper has none."""
