"""Bandits: an action pulls an arm, a model whose score is random."""
