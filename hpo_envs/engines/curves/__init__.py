"""One action trains one row up to one checkpoint and pays what is new."""
