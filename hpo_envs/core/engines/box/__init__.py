"""Environments whose actions are points of a box: a function answers any of them."""
