"""From a file to runs: cells, whose export they are, which column is what, how runs ended."""
