"""CharHPO: hyperparameter optimisation of character transduction models (Wiemerslage et al. 2024), sweep by sweep."""
