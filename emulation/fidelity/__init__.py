"""The fidelity verdict: did the emulation keep its promises? (`record.fidelity` has its schema.)"""

from emulation.fidelity.checks import Measurements, Relayed, judge
from emulation.fidelity.modelled import judge_modelled
from emulation.fidelity.series import Stretch
from emulation.fidelity.throttling import Throttling

__all__ = ["Measurements", "Relayed", "Stretch", "Throttling", "judge", "judge_modelled"]
