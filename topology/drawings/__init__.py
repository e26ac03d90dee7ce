"""Drawings of overlays: positions of brokers, and pictures."""
