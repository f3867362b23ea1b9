"""Comparisons of agents from a study to a verdict: runs, replay, scores, rankings, targets."""
