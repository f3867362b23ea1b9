"""Single-fidelity optimisers and their base classes."""
