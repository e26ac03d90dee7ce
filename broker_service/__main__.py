"""`python -m broker_service CONFIG.json`: a broker process (`grpc_shell.server`).

The garbage collector is off until the broker serves: modules that are being loaded leave little garbage, and looking
for it takes an eighth of a broker's start.
"""

import gc
import sys

gc.disable()

from broker_service.grpc_shell.server import main  # noqa: E402

if __name__ == "__main__":
    sys.exit(main())
