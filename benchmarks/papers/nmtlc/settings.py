"""Settings of `hpo-envs reproduce nmtlc`; nothing was published on these curves."""

from __future__ import annotations

from hpo_envs.tables.datasets import nmtlc

CORPORA = tuple(nmtlc.CORPORA)

AGENTS = ("random", "successive-halving", "hyperband", "asha")

TRIALS = 100

TRAININGS = (1, 2, 5, 10, 20)
"""Budgets at which the regret is stated, in full trainings of average length; the last is the id's default budget."""
