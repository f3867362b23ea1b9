"""Environments that build recurrent cells node by node and score complete ones."""
