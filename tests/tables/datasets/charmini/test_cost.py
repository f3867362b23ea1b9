from __future__ import annotations

import pytest

from hpo_envs.tables.datasets.charmini import cost
from hpo_envs.tables.datasets.charmini.space import configuration


@pytest.mark.parametrize("architecture", ["lstm", "transformer"])
def test_larger_models_and_smaller_batches_cost_more(architecture):
    config = configuration(architecture, 0) | {"batch_size": 64, "hidden_size": 64, "embedding_size": 32}
    base = cost.epoch(architecture, config)
    assert 0.05 < base < 5.0
    for name, value in (("batch_size", 32), ("hidden_size", 128), ("embedding_size", 64)):
        assert cost.epoch(architecture, config | {name: value}) > base


def test_work_of_a_small_lstm():
    config = {"batch_size": 150, "embedding_size": 2, "hidden_size": 4, "encoder_layers": 1, "decoder_layers": 1}
    steps, multiplications, fixed = cost.work("lstm", config)
    assert (steps, fixed) == (10 * (18 + 11), 1.0)
    letter, phoneme = 16 * (2 + 2), 16 * (2 + 4) + 3 * 16 + 160
    assert multiplications == pytest.approx(2e-9 * 5500 * (6.7 * letter + 6.65 * phoneme))
