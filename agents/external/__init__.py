"""Optimizers of other packages as agents."""
