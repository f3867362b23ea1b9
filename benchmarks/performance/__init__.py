"""Measurements of the suite itself: speed, growth, crashes, long runs. Not in the wheel."""
