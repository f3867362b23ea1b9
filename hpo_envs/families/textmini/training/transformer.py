"""CharMini's transformer for inflection, on the symbols of a task."""

from hpo_envs.families.textmini.training import lstm


class Training(lstm.Training):
    """A model in training, see `lstm.Training`."""

    model = "transformer"
