"""Single-fidelity optimisers, one per module."""
