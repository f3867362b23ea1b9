"""Losses of architectures that were trained on both data sets."""

from __future__ import annotations

import numpy as np

from hpo_envs.tables import store
from hpo_envs.tables.datasets.nasbenchnlp.features import group
from hpo_envs.tables.datasets.nasbenchnlp.logs import Log, read_archive
from hpo_envs.tables.datasets.nasbenchnlp.names import LOGS
from hpo_envs.tables.table import Floats, Table


def paired_losses(final: Table) -> tuple[Floats, Floats]:
    """Final test losses (WikiText-2, PTB) of the recipes that were trained on both and diverged on neither."""
    logs: dict[str, list[Log]] = {}
    for log in read_archive(store.read(LOGS), LOGS):
        logs.setdefault(log.recipe, []).append(log)
    losses = dict(zip(map(int, final.keys), final.final("test_loss"), strict=True))
    x, y = [], []
    for runs in logs.values():
        ends = [run.losses[-1, 1] for run in runs if not run.diverged]
        g = next((g for run in runs if (g := group(run.architecture)) in losses), None)
        if ends and g is not None and not np.isnan(losses[g]):
            x.append(np.mean(ends))
            y.append(losses[g])
    return np.array(x), np.array(y)
