"""Multi-fidelity optimisers, which decide how long to train each candidate."""
