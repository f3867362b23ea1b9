"""Studies: which runs, where they are run, and how they are stored."""
