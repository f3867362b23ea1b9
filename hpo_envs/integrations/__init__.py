"""Other packages' interfaces to our environments and runs; each module needs an extra."""
