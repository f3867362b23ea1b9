"""Environments whose steps call a function of the user."""
