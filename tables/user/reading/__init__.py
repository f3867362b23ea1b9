"""From a file or folder to columns of cells: formats, trackers, words for how runs ended."""
