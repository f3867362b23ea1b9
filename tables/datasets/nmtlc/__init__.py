"""Learning curves of machine translation systems."""
