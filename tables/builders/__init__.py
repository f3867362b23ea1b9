"""Builders: one module per upstream release, from verified bytes to a Table."""
