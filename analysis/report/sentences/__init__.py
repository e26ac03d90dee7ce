"""The sentences of a report: headline, verdicts, comparisons of variants, and the settings of the run."""
