"""Data sets, one folder each: constants in `__init__`, builder, pack script, and the pack with its NOTICE."""
