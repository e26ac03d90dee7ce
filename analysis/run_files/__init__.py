"""The files of a run directory as the analysis reads them: manifest, verdicts, logs and clocks."""
