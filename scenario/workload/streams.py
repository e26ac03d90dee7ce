"""Independent, named random streams from one seed, so that changing one part of a workload reshuffles no other."""

from __future__ import annotations

import random

import numpy as np


def stream(seed: int, name: str) -> random.Random:
    """The stream of this name, which is the same on every host and Python version."""
    return random.Random(f"{seed}:{name}")


def numeric_stream(seed: int, name: str) -> np.random.Generator:
    """The stream of this name as a generator of NumPy."""
    return np.random.Generator(np.random.PCG64(stream(seed, name).getrandbits(128)))
