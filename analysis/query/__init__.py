"""SQL over the tables of analysed runs."""

from analysis.query.database import Answer, Database, open_tables

__all__ = ["Answer", "Database", "open_tables"]
