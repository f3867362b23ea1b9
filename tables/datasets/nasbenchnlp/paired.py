"""Losses of architectures that were trained on both data sets."""

from __future__ import annotations

import numpy as np

from hpo_envs.tables.datasets.nasbenchnlp.build import architectures
from hpo_envs.tables.datasets.nasbenchnlp.features import group
from hpo_envs.tables.table import Floats, Table


def paired_losses(curves: Table, final: Table) -> tuple[Floats, Floats]:
    """Final test losses (WikiText-2, PTB) of the recipes that were trained on both and diverged on neither."""
    ids, ends = architectures(), curves.values[:, :, -1, curves.metric("test_loss")]
    losses = dict(zip(map(int, final.keys), final.final("test_loss"), strict=True))
    x, y = [], []
    for row in np.argsort(curves.source_index):
        g = next((g for i in ids[curves.source_index[row]] if (g := group(int(i))) in losses), None)
        finite = ends[row][~np.isnan(ends[row])]
        if len(finite) and g is not None and not np.isnan(losses[g]):
            x.append(np.mean(finite))
            y.append(losses[g])
    return np.array(x), np.array(y)
