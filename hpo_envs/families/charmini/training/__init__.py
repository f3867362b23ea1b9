"""Training of CharMini's models, bit-identical on every tested processor."""
