"""`python -m command_line` is `brokerlab`."""

from command_line import main

main()
