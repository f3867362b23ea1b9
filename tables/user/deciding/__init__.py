"""Decisions on the columns and lines of a frame."""
