"""What several routing protocols share: identifiers, headers, timers, the congestion measure."""
