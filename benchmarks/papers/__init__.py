"""Reproductions of papers, one folder each: published numbers are in `expected.csv`, reasons in `mechanisms.csv`."""
