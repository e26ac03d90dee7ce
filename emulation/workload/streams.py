"""Independent random streams from one seed, each under a name: changing one part of a workload reshuffles no other."""

from __future__ import annotations

import random

import numpy as np


def stream(seed: int, name: str) -> random.Random:
    """The stream of this name; the same one on every host and Python version."""
    return random.Random(f"{seed}:{name}")


def numeric_stream(seed: int, name: str) -> np.random.Generator:
    """The same for NumPy."""
    return np.random.Generator(np.random.PCG64(stream(seed, name).getrandbits(128)))
