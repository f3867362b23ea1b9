"""Multi-fidelity optimizers, which decide how long to train each candidate."""
