"""Interface to Optuna: agents as samplers, and runs as studies. Needs the extra `optuna`."""
