"""The reproductions: one folder for each paper, the same file names in each."""
