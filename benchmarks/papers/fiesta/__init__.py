"""Moss et al. 2019: model selection as a bandit."""
