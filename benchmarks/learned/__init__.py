"""Training and tests of the learned optimizers, on languages held out from training; no paper is reproduced."""
