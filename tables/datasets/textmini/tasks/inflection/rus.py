"""Inflection of Russian words."""

from hpo_envs.tables.datasets.textmini.tasks.inflection import task

TASK = task("rus")
