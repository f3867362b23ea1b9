"""Single-fidelity optimisers, one in each module."""
