"""Tables that users saved."""
