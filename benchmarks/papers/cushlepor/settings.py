"""Settings of the reproduction."""

from __future__ import annotations

from dataclasses import dataclass

from hpo_envs.tables import hlepor

ENV = "CushLEPOR-ted-ende-v0"

PRESETS = ("default", "hlepor-en-de", "cushlepor-lm-en-de", "cushlepor-psqm-en-de", "cushlepor-lm-en-de-first")
"""Published settings for English to German, and the default of the public package."""

TRIALS = 20
BUDGET = 400
"""Evaluations; the paper speaks of 200 to 300 (section 3.2)."""

AGENTS = ("random", "tpe", "cmaes", "box-bo")

WITHIN = 0.01
"""A run has arrived when its reward is within this share of the best found."""


@dataclass(frozen=True)
class Problem:
    """One tuning problem: what is rewarded, and in which box."""

    objective: str
    bounds: str

    @property
    def name(self) -> str:
        """For tables."""
        return f"{self.objective}, {self.bounds} box"


PROBLEMS = tuple(Problem(o, b) for o in ("pearson", "rmse") for b in ("published", "wide"))

FOLDS = ("talk.1", "talk.3", "talk.4", "talk.5", "talk.6")
"""Cross-validation holds out one talk at a time."""

BOOTSTRAP = 2000
"""Resamples of source segments; all systems' translations of a segment stay together."""


def presets() -> dict[str, hlepor.Parameters]:
    """The published settings compared."""
    return {name: hlepor.preset(name) for name in PRESETS}
