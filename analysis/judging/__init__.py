"""The delivery oracle: stage after stage, from the events of each publication to verdicts and their tables."""
