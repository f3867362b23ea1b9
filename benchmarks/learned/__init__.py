"""No paper: the learned optimiser, trained on all tables but those of one language, tested on these."""
