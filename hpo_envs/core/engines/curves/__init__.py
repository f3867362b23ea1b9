"""One action trains one row up to one checkpoint and pays only the new part."""
