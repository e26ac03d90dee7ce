"""Lines about faults in the terminal: one for each kind."""

from __future__ import annotations

from command_line.commands.verdicts import fault_lines
from tests.analysis.report.test_faults import KILL, fault


def test_one_line_a_kind_with_sums_and_extremes() -> None:
    other = fault(detected_first_s=0.5, detected_last_s=1.5, recovered_s=2.0, late=1, excused=1, dropped=0, lost=3)
    quiet = fault(kind="slow", detected_first_s=None, detected_last_s=None)
    assert fault_lines([KILL, quiet, other]) == [
        "kill (2 times): detected after 0.00 to 1.50 s, recovered 2.00 s after the heal; "
        "1,201 late, 15 excused, 12 dropped, 3 lost",
        "slow: no neighbour noticed, recovered 0.00 s after the heal; 1,200 late, 14 excused, 12 dropped",
    ]


def test_what_never_ended_and_what_cannot_be_compared_is_said() -> None:
    unhealed = fault(healed_ns=None, recovered_s=None)
    assert "never healed;" in fault_lines([unhealed])[0]
    assert ", 1 never healed;" in fault_lines([unhealed, KILL])[0]
    assert "no delivery before to compare with;" in fault_lines([fault(recovered_s=None, late=None)])[0]


def test_nothing_is_said_where_nothing_was_injected() -> None:
    assert fault_lines([]) == []
