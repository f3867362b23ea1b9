"""Engines: one per kind of table, in a scalar and a batched form."""
