"""Single-fidelity optimizers and their base classes."""
