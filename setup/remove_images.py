"""Part of `make distclean`: removes the images that brokerlab built on this host, by their names."""

import sys

import docker.errors

from emulation.host.docker_host import REPOSITORY, docker_client
from emulation.host.emulator_image import REPOSITORY as EMULATOR_REPOSITORY
from emulation.host.images import BOOTSTRAPPED_BASE
from emulation.host.protocol_image import REPOSITORY as PROTOCOL_REPOSITORY
from record.errors import HostError


def main() -> int:
    try:
        client = docker_client()
    except HostError:
        return 0  # without a daemon there are no images
    repositories = (PROTOCOL_REPOSITORY, REPOSITORY, EMULATOR_REPOSITORY, BOOTSTRAPPED_BASE.partition(":")[0])
    for name in (name for image in client.images.list() for name in image.tags):
        if name.partition(":")[0] in repositories:
            try:
                client.images.remove(name)
                print(f"set-up: removed image {name}")
            except docker.errors.APIError as error:
                print(f"set-up: image {name} stays: {error.explanation}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
