"""Trains CharMini's models, with the same result to the bit on every processor tried."""
