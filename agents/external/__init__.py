"""Other packages' optimizers as agents, and our agents as theirs."""
