"""A benchmark of live tuning: optimizers on computed functions instead of tables."""
