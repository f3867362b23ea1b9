"""A comparison as one self-contained page, without libraries and network requests."""
