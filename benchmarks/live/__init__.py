"""A benchmark of live tuning: optimizers on functions that are computed, not looked up."""
