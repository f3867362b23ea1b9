"""Studies: what to run, where to run it, and how its runs are kept."""
