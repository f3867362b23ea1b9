"""Reproductions of papers, one folder each."""
