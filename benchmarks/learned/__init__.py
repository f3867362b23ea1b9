"""The learned optimizers, tested on languages held out from their training; no paper is reproduced."""
