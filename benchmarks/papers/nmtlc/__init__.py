"""Zhang and Duh 2020, data repository: early stopping on learning curves of machine translation."""
