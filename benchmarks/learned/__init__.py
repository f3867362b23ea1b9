"""Training of the learned optimizers, and tests on languages held out from training; no paper is reproduced."""
