"""Tools of the fitting scripts: out-of-fold predictions, regressions, forests."""
