"""Engines: one per kind of table, each in a scalar and a batched form."""
