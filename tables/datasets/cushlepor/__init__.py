"""Han et al. 2021: translations with human scores."""
