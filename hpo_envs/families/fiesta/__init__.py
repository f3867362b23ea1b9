"""FIESTA: model selection as a bandit (Moss et al. 2019)."""
