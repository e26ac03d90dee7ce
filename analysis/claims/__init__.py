"""Claims of the papers as data, and the verdict on each claim from measurements made here."""

from analysis.claims.estimates import SeedEstimate, estimate
from analysis.claims.files import read_claims
from analysis.claims.model import Claim, ClaimKind, Claims, ClaimsError, Paper, Recipe
from analysis.claims.shipped import FILES, MEASURES, load_claims
from analysis.claims.verdict import ClaimVerdict, JudgedClaim, JudgedPart, Measurement, judge

__all__ = [
    "FILES",
    "MEASURES",
    "Claim",
    "ClaimKind",
    "ClaimVerdict",
    "Claims",
    "ClaimsError",
    "JudgedClaim",
    "JudgedPart",
    "Measurement",
    "Paper",
    "Recipe",
    "SeedEstimate",
    "estimate",
    "judge",
    "load_claims",
    "read_claims",
]
