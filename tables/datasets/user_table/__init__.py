"""Tables that users saved themselves."""
