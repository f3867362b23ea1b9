"""Gender of first names by the lists of Kantrowitz and Ross (1994); some names are on both."""

from hpo_envs.tables.datasets.textmini.tasks import TextTask, of_lines

READ = of_lines("names", {"female": "female.txt", "male": "male.txt"})
TASK = TextTask("classification", "eng", "texts", ("nltk_data/names.zip",), READ, (3000, 1200, 1200))
