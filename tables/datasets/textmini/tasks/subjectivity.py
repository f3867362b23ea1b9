"""Sentences from plot summaries or reviews of films: objective or subjective (Pang and Lee 2004)."""

from hpo_envs.tables.datasets.textmini.tasks import TextTask, of_lines

FILES = {"objective": "plot.tok.gt9.5000", "subjective": "quote.tok.gt9.5000"}
READ = of_lines("subjectivity", FILES, "latin-1")
TASK = TextTask("classification", "eng", "texts", ("nltk_data/subjectivity.zip",), READ, (3000, 1200, 1200))
