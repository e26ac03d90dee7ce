"""`brokerlab`, but for a protocol with a defect, which brokers in containers know too."""

from __future__ import annotations

import atexit
import io
import tarfile
from pathlib import Path
from unittest import mock

import docker

from command_line import main
from emulation.host.docker_host import ensure_image
from emulation.host.images import ImageReference, PrintLine
from emulation.runtimes import container, ladder
from tests.broker_service import defective

IMAGE = "brokerlab-test:defective"
_DOCKERFILE = "FROM {base}\nCOPY defective.py /opt/brokerlab/tests/broker_service/\n"


def defective_image(client: docker.DockerClient, print_line: PrintLine) -> ImageReference:
    """The broker image with the protocol in one more layer; it is removed at the end of the program."""
    context = io.BytesIO()
    with tarfile.open(fileobj=context, mode="w") as archive:
        archive.add(Path(defective.__file__), "defective.py")
        dockerfile = _DOCKERFILE.format(base=ensure_image(client, print_line).name).encode()
        entry = tarfile.TarInfo("Dockerfile")
        entry.size = len(dockerfile)
        archive.addfile(entry, io.BytesIO(dockerfile))
    context.seek(0)
    image, _ = client.images.build(fileobj=context, custom_context=True, tag=IMAGE, rm=True)
    atexit.register(lambda: docker.from_env().images.remove(IMAGE))
    return ImageReference(IMAGE, image.id)


if __name__ == "__main__":
    with (
        defective.registered(),
        mock.patch.object(container, "BROKER_PROGRAM", defective.__name__),
        mock.patch.object(ladder, "ensure_image", defective_image),
    ):
        main()
