"""`brokerlab`, but for a protocol with a defect, which broker processes know too."""

from __future__ import annotations

from unittest import mock

from command_line import main
from emulation.runtimes import process
from tests.broker_service import defective

if __name__ == "__main__":
    with defective.registered(), mock.patch.object(process, "BROKER_PROGRAM", defective.__name__):
        main()
