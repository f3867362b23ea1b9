"""Saved tables of users."""
