"""Readings of link directions and of brokers' work, from the messages that passed through them."""
