"""A neural tagger of words, with their suffixes and shapes as features."""

from typing import Any

from hpo_envs.families.textmini.training import neural
from hpo_envs.families.textmini.training.scores import shape


class Training(neural.Training):
    """A tagger in training, see `neural.Training`."""

    model = "tagger"

    def _units(self, text: Any) -> list[list[str]]:
        config, found = self._config, []
        for word in text:
            form = word.lower() if config["lowercase"] else word
            units = [f"w={form}", *(f"s={form[-n:]}" for n in range(1, config["suffixes"] + 1))]
            found.append(units + [f"k={shape(word)}"] * config["shape"])
        return found
