"""Recurrent cells as graphs: what a NAS-Bench-NLP recipe means, without any environment."""
