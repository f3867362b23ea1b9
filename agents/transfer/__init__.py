"""Agents that have learned from other tables."""
