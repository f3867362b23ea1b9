"""HTML page of a search, as a file or served live while the search runs."""
