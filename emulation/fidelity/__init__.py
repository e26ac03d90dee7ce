"""The fidelity verdict: did the emulation keep its promises?"""

from emulation.fidelity.checks import Measurements, Throttling, judge
from emulation.fidelity.model import Check, Fidelity, LinkCheck, VariantFidelity, Verdict, read, worst, write

__all__ = [
    "Check",
    "Fidelity",
    "LinkCheck",
    "Measurements",
    "Throttling",
    "VariantFidelity",
    "Verdict",
    "judge",
    "read",
    "worst",
    "write",
]
