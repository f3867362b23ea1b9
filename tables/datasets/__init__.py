"""One folder for each data set: its constants, builder, pack script and pack."""
