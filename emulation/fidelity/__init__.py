"""The fidelity verdict: did the emulation keep its promises? (`record.fidelity` has its schema.)"""

from emulation.fidelity.checks import Measurements, Relayed, judge, judge_modelled
from emulation.fidelity.series import ObservedInterval
from emulation.fidelity.throttling import Throttling

__all__ = ["Measurements", "ObservedInterval", "Relayed", "Throttling", "judge", "judge_modelled"]
