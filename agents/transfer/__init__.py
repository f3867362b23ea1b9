"""Agents that learn from other tables."""
