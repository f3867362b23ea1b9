"""From runs to numbers and verdicts."""
