"""The figures of a report, one module each, from typed rows to a Plotly figure."""
