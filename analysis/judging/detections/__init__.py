"""The oracle's judgement of composite subscriptions: sets of publications that had to be detected, or might be."""
