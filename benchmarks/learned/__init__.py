"""The learned optimiser: training, and what it transfers to tables that it has not seen."""
