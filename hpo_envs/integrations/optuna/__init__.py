"""Optuna: agents as its samplers, and runs as its studies. Needs the extra `optuna`."""
