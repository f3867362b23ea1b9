"""Readers that make a frame of a file, document, folder or study."""
