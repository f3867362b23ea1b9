"""Trains CellMini's language models, with the same result to the bit wherever CharMini's have it."""
