"""Klyuchnikov et al. 2020 (NAS-Bench-NLP): figures and tables again."""
