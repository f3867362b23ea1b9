"""Optimisers of one fidelity, one a module."""
