"""Optimisers that decide how long each candidate is trained."""
