"""From a frame to decisions on its columns and lines."""
