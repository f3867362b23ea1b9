"""Pages of a search, as a file and while it is running."""
