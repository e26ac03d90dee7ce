"""Structures of overlays: SCOT (structured cyclic overlay topology) and redundant trees."""
