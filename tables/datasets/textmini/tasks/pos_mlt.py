"""Parts of speech of Maltese words (Universal Dependencies, MUDT)."""

from hpo_envs.tables.datasets.textmini.readers import conllu
from hpo_envs.tables.datasets.textmini.tasks import TextTask, treebank, upstream

TASK = TextTask("tagging", "mlt", "tokens", treebank("mt_mudt"), upstream(conllu), (15000, 6000, 6000))
