"""Packs and tables of the trainings of this project."""
