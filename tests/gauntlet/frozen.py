"""The seed of the mutants: a digest of the commit that froze their generator, so that nobody could choose them."""

from __future__ import annotations

import hashlib
from typing import Final

COMMIT: Final = "68be45d1e97f1c8e6dc5f1ff9d10cb102bb3d3ac"
"""The commit in which `mutants` and `hunting` came to be as they are."""
MUTANTS_SEED: Final = int.from_bytes(hashlib.blake2b(COMMIT.encode(), digest_size=6).digest(), "big")
