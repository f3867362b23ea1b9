"""A comparison as one self-contained page; its scripts (sorting, charts) and styles are in `static`."""
