"""Data sets, one folder each: constants, builder, pack script and pack."""
