"""`make emulator-image`: the image of the emulator and of Spark in docker-compose.yml, built if it is not there."""

import sys

from emulation.host.emulator_image import ensure_emulator_image
from record.errors import UserError


def main() -> int:
    try:
        image = ensure_emulator_image(print_line=lambda step: print(f"set-up: {step}", flush=True))
    except UserError as error:
        print(f"set-up: {error}", file=sys.stderr)
        return error.exit_code
    print(f"set-up: {image.name} is there, as {image.name.partition(':')[0]}:latest")
    return 0


if __name__ == "__main__":
    sys.exit(main())
