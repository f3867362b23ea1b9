"""Zhang and Duh 2020: hyperparameters of transformers for machine translation."""
