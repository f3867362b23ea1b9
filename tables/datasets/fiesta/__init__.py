"""Moss et al. 2019: repeated evaluations of models."""
