"""Core of every environment: the two shells, their info, record and pictures."""
