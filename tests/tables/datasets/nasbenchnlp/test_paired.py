"""Losses of the recipes that were trained on both corpora."""

from __future__ import annotations

import numpy as np

from hpo_envs.tables import store
from hpo_envs.tables.datasets.nasbenchnlp.paired import paired_losses


def test_losses_are_those_of_the_final_table() -> None:
    final = store.load("nasbenchnlp/ptb-final")
    wikitext2, ptb = paired_losses(store.load("nasbenchnlp/wikitext2"), final)
    assert wikitext2.shape == ptb.shape == (260,)
    assert np.isfinite(wikitext2).all()
    assert np.isin(ptb, final.final("test_loss")).all()
