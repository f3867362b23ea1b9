"""A comparison as one self-contained page: no library, no request to a network, readable from a file."""
