"""Bandit environments: an action pulls one arm or a batch of arms, which are models with random scores."""
