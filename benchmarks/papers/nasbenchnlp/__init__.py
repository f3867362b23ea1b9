"""Klyuchnikov et al. 2020: architecture search among recurrent cells."""
