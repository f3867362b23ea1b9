"""Reproduction of Wiemerslage, Gorman and von der Wense (2024), and what their sweeps teach about optimisers."""
