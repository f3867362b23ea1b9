"""Samplers of Optuna as agents. Needs the extra `optuna`."""
