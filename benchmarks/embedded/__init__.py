"""How embedded tables compare with the measured ones they stand in for."""
