"""Moss, Moore, Leslie and Rayson 2019: model selection with adaptive bandit algorithms."""
