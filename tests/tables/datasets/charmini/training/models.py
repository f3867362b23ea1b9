"""What both architectures must do."""

from __future__ import annotations

import numpy as np

from hpo_envs.tables.datasets.charmini.space import configuration

SMALL = {"embedding_size": 16, "hidden_size": 32, "batch_size": 32, "learning_rate": 0.01}


def small(architecture, **changed):
    """The first drawn configuration, made small."""
    return configuration(architecture, 0) | SMALL | changed


def check_greedy(model):
    """Greedy decoding tells what the scores of whole sequences say is likeliest, whatever the batch."""
    import torch

    from hpo_envs.tables.datasets.charmini.training.batches import Packed, corpus
    from hpo_envs.tables.datasets.charmini.training.layers import Dropout, Parameters

    views = Parameters(model.shapes(), 3).views
    words, longest, boundary = corpus("eng").parts["test"][:40], 5, 39
    with torch.no_grad():
        told = model.greedy(views, words, longest)
        assert (told[:, 0] != told[0, 0]).any() or len(np.unique(told)) > 2
        alone = model.greedy(views, words[np.array([7])], longest)
        ended = (told == boundary).argmax(1)
        spoken = Packed(np.where((told == boundary).any(1), ended + 1, longest))
        inputs = spoken.pack(np.hstack([np.full((40, 1), boundary), told]))
        likeliest = model.logits(views, words, spoken, inputs, Dropout(0.0, None)).argmax(1).numpy()
    assert (likeliest == spoken.pack(told)).all()
    assert (alone[0] == told[7]).all()


def check_padding(model):
    """Scores of a word do not depend on the other words of its batch."""
    import torch

    from hpo_envs.tables.datasets.charmini.training.batches import Packed, corpus
    from hpo_envs.tables.datasets.charmini.training.layers import Dropout, Parameters

    views = Parameters(model.shapes(), 3).views

    def scores(words):
        spoken = Packed(words.spoken + 1)
        inputs = spoken.pack(np.hstack([np.full((len(words), 1), boundary), words.phonemes]))
        with torch.no_grad():
            packed = model.logits(views, words, spoken, inputs, Dropout(0.0, None)).numpy()
        at = np.argsort(spoken.order)[0]
        return packed[spoken.place[at][spoken.inside[at]]]

    words, boundary = corpus("eng").parts["test"][:20], 39
    np.testing.assert_allclose(scores(words), scores(words[np.array([0])]), atol=1e-12)
