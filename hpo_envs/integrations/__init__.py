"""Interfaces of environments, agents and runs to other packages; most modules need an extra."""
