"""Campaigns: a scenario under every combination of factors, fault schedules and seeds, on any number of hosts."""

from studies.campaign.cell import Cell, run_simulated
from studies.campaign.cells import cells, fingerprint
from studies.campaign.model import Campaign, load_campaign
from studies.campaign.result import CellResult

__all__ = ["Campaign", "Cell", "CellResult", "cells", "fingerprint", "load_campaign", "run_simulated"]
