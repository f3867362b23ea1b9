"""Wiemerslage, Gorman and von der Wense 2024: hyperparameter sensitivity in character transduction."""
