"""Pure functions of runs and scores: regret, intervals, significance tests, importance."""
