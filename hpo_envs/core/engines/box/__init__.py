"""Environments whose actions are points of a box, evaluated by a surrogate or a metric."""
