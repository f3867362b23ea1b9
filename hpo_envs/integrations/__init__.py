"""Interfaces between other packages and our environments, agents and runs; most modules need an extra."""
