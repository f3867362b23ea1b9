"""Interfaces of other packages to our environments, agents and runs; each module needs an extra."""
