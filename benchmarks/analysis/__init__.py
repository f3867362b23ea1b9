"""Pure functions on runs and scores: regret, intervals, significance tests, importance."""
