"""No paper: the learned optimizer, tested on languages held out from its training."""
