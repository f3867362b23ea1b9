"""Environments whose steps call a user's function."""
