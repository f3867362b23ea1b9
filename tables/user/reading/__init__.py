"""Bytes to a frame: files, documents, folders and studies, and the tools whose exports they are."""
