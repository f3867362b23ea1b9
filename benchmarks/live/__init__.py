"""A benchmark of live tuning: optimisers on functions that are computed, not looked up."""
