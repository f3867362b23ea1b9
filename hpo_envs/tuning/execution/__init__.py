"""Execution of a search's evaluations: workers, programs, and processes that share a search."""
