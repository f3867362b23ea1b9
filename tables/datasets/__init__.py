"""One folder for each data set: its constants, builder, model, fitting script and embedded data."""
