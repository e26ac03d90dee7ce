"""MEDYM: match early with dynamic multicast (Cao, Singh: Technical Report 692-04, Princeton University, 2004)."""
