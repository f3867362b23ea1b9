"""Studies: planning, execution and storage of runs."""
