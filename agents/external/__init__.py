"""Other packages' optimisers as agents, and our agents as theirs."""
