"""The sentences of a report: headline, verdicts, and the settings of the run."""
