"""The fidelity verdict: did the emulation keep its promises?"""

from emulation.fidelity.checks import Measurements, Relayed, judge
from emulation.fidelity.model import Check, Fidelity, LinkCheck, VariantFidelity, Verdict, read, worst, write
from emulation.fidelity.throttling import Throttling

__all__ = [
    "Check",
    "Fidelity",
    "LinkCheck",
    "Measurements",
    "Relayed",
    "Throttling",
    "VariantFidelity",
    "Verdict",
    "judge",
    "read",
    "worst",
    "write",
]
