"""Training of the learned optimizers, and tests on data held out from training; no paper is reproduced."""
