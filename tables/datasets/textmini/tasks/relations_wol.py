"""Dependency labels of Wolof words (Universal Dependencies, WTB)."""

import functools

from hpo_envs.tables.datasets.textmini.readers import conllu
from hpo_envs.tables.datasets.textmini.tasks import TextTask, treebank, upstream

READ = upstream(functools.partial(conllu, column=7))
TASK = TextTask("tagging", "wol", "tokens", treebank("wo_wtb"), READ, (15000, 6000, 6000))
