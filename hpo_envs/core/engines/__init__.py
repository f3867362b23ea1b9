"""Engines, one per kind of environment (bandit, box, cells, curves, function, lookup), each scalar and vectorized."""
