"""Zhang and Duh 2020, hyperparameter optimisation for machine translation: settings, analysis, reproduction."""
