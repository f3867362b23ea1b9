"""Zhang and Duh 2020: hyperparameter optimisation of neural machine translation."""
