"""Campaigns: a scenario under every combination of factors, fault schedules and seeds, on any number of hosts."""

from studies.campaign.cell import CampaignCell
from studies.campaign.cells import cells, fingerprint
from studies.campaign.model import Campaign, load_campaign
from studies.campaign.result import CampaignResult

__all__ = ["Campaign", "CampaignCell", "CampaignResult", "cells", "fingerprint", "load_campaign"]
