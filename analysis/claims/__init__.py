"""Claims of the papers as data, and the verdict on each claim from measurements made here."""

from analysis.claims.estimates import Estimate, estimate
from analysis.claims.files import read_claims
from analysis.claims.model import Claim, Claims, ClaimsError, Kind, Paper, Recipe
from analysis.claims.shipped import FILES, MEASURES, load_claims
from analysis.claims.verdict import JudgedPart, Judgement, Measurement, Verdict, judge

__all__ = [
    "FILES",
    "MEASURES",
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
    "read_claims",
]
