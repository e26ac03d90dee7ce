"""What the papers claim, as data, and the verdict on each claim from what was measured here."""

from analysis.claims.estimates import Estimate, estimate
from analysis.claims.model import CLAIMS_FILE, Claim, Claims, ClaimsError, Kind, Paper, Recipe, load_claims
from analysis.claims.verdict import JudgedPart, Judgement, Measurement, Verdict, judge

__all__ = [
    "CLAIMS_FILE",
    "Claim",
    "Claims",
    "ClaimsError",
    "Estimate",
    "JudgedPart",
    "Judgement",
    "Kind",
    "Measurement",
    "Paper",
    "Recipe",
    "Verdict",
    "estimate",
    "judge",
    "load_claims",
]
