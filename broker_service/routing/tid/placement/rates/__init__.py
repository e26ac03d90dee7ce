"""Rates of publications and of matches, estimated from statistics of publications (`statistics`, `histograms`): the
share that matches a subscription (`selection`), and the matches of a composite one (`cardinality`; section 4.3)."""
