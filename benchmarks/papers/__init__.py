"""The reproductions: one folder for each paper."""
