"""No paper: the learned optimizer, trained on all tables but those of one language, tested on these."""
