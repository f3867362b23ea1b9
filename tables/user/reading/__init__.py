"""Input to a frame: files, documents, folders, studies, and the tools that exported them."""
