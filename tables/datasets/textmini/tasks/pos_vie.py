"""Parts of speech of Vietnamese words (Universal Dependencies, VTB)."""

from hpo_envs.tables.datasets.textmini.readers import conllu
from hpo_envs.tables.datasets.textmini.tasks import TextTask, treebank, upstream

TASK = TextTask("tagging", "vie", "tokens", treebank("vi_vtb"), upstream(conllu), (15000, 6000, 6000))
