"""Overlays that change while they run: links that appear and vanish at given times, and rewiring."""
