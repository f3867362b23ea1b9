"""Reproductions of papers, one folder each: published numbers (`expected.csv`), why ours differ (`mechanisms.csv`)."""
