"""From a frame to decisions: roles, outcomes, number formats, definitions of hyperparameters, repeats."""
