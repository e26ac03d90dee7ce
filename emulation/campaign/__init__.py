"""Campaigns: a scenario under every combination of factors, fault schedules and seeds, on any number of hosts."""

from emulation.campaign.cell import Cell, run_simulated
from emulation.campaign.cells import cells, fingerprint
from emulation.campaign.model import Campaign, load_campaign
from emulation.campaign.result import CellResult

__all__ = ["Campaign", "Cell", "CellResult", "cells", "fingerprint", "load_campaign", "run_simulated"]
