"""The fidelity verdict: did the emulation keep its promises?"""

from emulation.fidelity.checks import Measurements, Relayed, judge
from emulation.fidelity.modelled import judge_modelled
from emulation.fidelity.series import Stretch
from emulation.fidelity.throttling import Throttling
from record.fidelity import Check, Fidelity, LinkCheck, Sample, VariantFidelity, Verdict, read, worst, write

__all__ = [
    "Check",
    "Fidelity",
    "LinkCheck",
    "Measurements",
    "Relayed",
    "Sample",
    "Stretch",
    "Throttling",
    "VariantFidelity",
    "Verdict",
    "judge",
    "judge_modelled",
    "read",
    "worst",
    "write",
]
