#!/bin/bash
# Prints an interpreter for the virtual environment: 3.11 or later, with venv and pip's own wheel. PYTHON in the
# environment chooses one; the system's comes next, because it is the same for all users of the host.
for python in ${PYTHON:+"$PYTHON"} /usr/bin/python3 python3 python3.13 python3.12 python3.11; do
    if "$python" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
        command -v "$python"
        exit 0
    fi
done
exit 1
