"""Measurements of the suite itself: speed, and how often verdicts are right. Not in the wheel."""
