"""Wiemerslage, Gorman and von der Wense 2024: character transduction sweeps."""
