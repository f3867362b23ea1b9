"""Commands that say what scores mean: of hyperparameters, of models, of translations."""
