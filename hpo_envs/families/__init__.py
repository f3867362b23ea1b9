"""Families of environments, one package each."""
