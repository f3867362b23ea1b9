"""Environments whose actions are points of a box, all evaluated by a function."""
