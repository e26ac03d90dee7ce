"""`python -m emulation` is `brokerlab`."""

from emulation.cli import main

main()
