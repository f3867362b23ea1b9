"""CushLEPOR: tuning the weights of a translation metric against human scores (Han et al. 2021)."""
