"""`make image`: the broker image of the present tree, built if it is not there."""

import sys

from emulation.host.docker_host import ensure_image
from record.errors import UserError


def main() -> int:
    try:
        ensure_image(print_line=lambda step: print(f"set-up: {step}", flush=True))
    except UserError as error:
        print(f"set-up: {error}", file=sys.stderr)
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main())
