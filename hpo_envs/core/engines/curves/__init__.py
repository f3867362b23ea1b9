"""Learning-curve environments: an action trains a row up to a checkpoint and pays only for the new training."""
