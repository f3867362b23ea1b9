"""Optimisers that decide how long to train each candidate."""
