"""Learning curves of machine translation: what stopping early is worth."""
