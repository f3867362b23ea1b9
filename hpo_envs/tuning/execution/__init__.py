"""Execution of a search's evaluations: workers, programs, trackers, and processes that share a search."""
