"""The seed of the mutants: a digest of the commit that froze their generator, so that nobody could choose them."""

from __future__ import annotations

import hashlib
from typing import Final

COMMIT: Final = "7de4a5c0f8411ae455e0893616e85bbd9d93b236"
"""The commit in which `mutants` and `hunting` came to be as they are."""
MUTANTS_SEED: Final = int.from_bytes(hashlib.blake2b(COMMIT.encode(), digest_size=6).digest(), "big")
