from __future__ import annotations

import pytest

pytest.importorskip("torch")

from hpo_envs.tables.datasets.charmini.training.batches import Sizes
from hpo_envs.tables.datasets.charmini.training.lstm import AttentiveLSTM
from tests.tables.datasets.charmini.training.models import check_greedy, check_padding, small


@pytest.mark.parametrize("layers", [1, 2])
def test_greedy_decoding_and_whole_sequences_agree(layers):
    model = AttentiveLSTM(small("lstm", encoder_layers=layers), Sizes(26, 39))
    check_greedy(model)
    check_padding(model)
