"""Gaussian processes: kernels and their estimate, means from other tables, conditioning; on boxes, of curves."""
