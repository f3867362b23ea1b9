"""Other packages' optimizers as agents."""
