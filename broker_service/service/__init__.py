"""The work in front of a broker: which messages are handled when."""
