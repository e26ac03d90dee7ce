"""The papers: a file of claims for each, and the measures of those that run here."""
