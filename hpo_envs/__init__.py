"""Gymnasium environments for hyperparameter optimisation in NLP."""
