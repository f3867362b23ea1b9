"""Multi-fidelity environments: an action trains a row up to a checkpoint and pays only the new part."""
