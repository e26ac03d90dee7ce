"""CPU priorities, in processes of their own."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root may put a process before others")

BUSY_PROGRAM = """
import os, threading, time
from emulation.host.priority import LINKS
print(LINKS.take(), flush=True)
other = threading.Thread(target=time.sleep, args=(3600,), daemon=True)
other.start()
print(os.sched_getscheduler(other.native_id) == os.SCHED_RR)
while os.sched_getscheduler(0) == os.SCHED_RR:
    pass
print(os.sched_getscheduler(other.native_id) == os.SCHED_OTHER)
"""


def test_a_process_that_never_rests_gives_up_its_priority_in_all_threads() -> None:
    printed = subprocess.run(
        [sys.executable, "-c", BUSY_PROGRAM], capture_output=True, text=True, timeout=60, check=True
    )
    assert printed.stdout.splitlines() == ["real-time, round-robin, 10", "True", "True"]


REFUSED = """
import os
from emulation.host.priority import CLIENTS
os.setuid(65534)
print(CLIENTS.take())
"""


def test_where_nothing_is_allowed_that_is_said() -> None:
    printed = subprocess.run([sys.executable, "-c", REFUSED], capture_output=True, text=True, timeout=60, check=True)
    assert printed.stdout == "none\n"
