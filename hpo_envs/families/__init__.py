"""One page for each family of environments."""
