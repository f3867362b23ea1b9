"""Klyuchnikov et al. 2020: recurrent cells trained as language models."""
