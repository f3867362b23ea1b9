"""From files, documents, folders and studies to a frame."""
