"""A comparison as one self-contained HTML page, whose scripts and styles are in `static`, and as text."""
