"""`brokerlab`, but for a protocol with a defect, which brokers in processes and containers know too."""

from __future__ import annotations

from unittest import mock

from command_line import main
from emulation.host import docker_host
from emulation.runtimes import container, process
from tests.broker_service import defective
from tests.emulation.run.broker_image import image_with

IMAGE = "defective"


if __name__ == "__main__":
    with (
        defective.registered(),
        mock.patch.object(process, "BROKER_PROGRAM", defective.__name__),
        mock.patch.object(container, "BROKER_PROGRAM", defective.__name__),
        mock.patch.object(docker_host, "ensure_image", image_with(IMAGE, "tests/broker_service/defective.py")),
    ):
        main()
