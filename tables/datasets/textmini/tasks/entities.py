"""Named entities of six kinds in social media (WNUT17, Derczynski et al. 2017)."""

from hpo_envs.tables.datasets.textmini.readers import columns
from hpo_envs.tables.datasets.textmini.tasks import TextTask, upstream

FILES = ("wnut17/wnut17train.conll", "wnut17/emerging.dev.conll", "wnut17/emerging.test.annotated")
TASK = TextTask("tagging", "eng", "spans", FILES, upstream(columns), (40000, 16000, 24000))
