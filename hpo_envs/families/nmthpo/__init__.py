"""NMTHPO: hyperparameter optimisation of transformers for machine translation (Zhang and Duh 2020)."""
