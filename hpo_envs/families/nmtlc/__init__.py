"""NMTLC: learning curves of machine translation systems as multi-fidelity environments."""
