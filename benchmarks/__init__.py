"""Runs, results, scores and the reproductions of the papers."""
