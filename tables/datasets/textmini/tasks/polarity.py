"""Sentences from film reviews: positive or negative (Pang and Lee 2005)."""

from hpo_envs.tables.datasets.textmini.tasks import TextTask, of_lines

READ = of_lines("sentence_polarity", {"neg": "rt-polarity.neg", "pos": "rt-polarity.pos"})
TASK = TextTask("classification", "eng", "texts", ("nltk_data/sentence_polarity.zip",), READ, (3000, 1200, 1200))
