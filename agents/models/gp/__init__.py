"""Gaussian processes: kernels and their estimation, conditioning, means from other tables; on boxes and for curves."""
