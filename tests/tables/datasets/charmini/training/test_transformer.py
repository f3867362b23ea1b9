from __future__ import annotations

import pytest

pytest.importorskip("torch")

from hpo_envs.tables.datasets.charmini.training.batches import Sizes
from hpo_envs.tables.datasets.charmini.training.layers import Parameters
from hpo_envs.tables.datasets.charmini.training.transformer import Transformer
from tests.tables.datasets.charmini.training.models import check_greedy, check_padding, small


@pytest.mark.parametrize("heads", [2, 8])
def test_greedy_decoding_and_whole_sequences_agree(heads):
    model = Transformer(small("transformer", encoder_layers=2, decoder_layers=2, attention_heads=heads), Sizes(26, 39))
    check_greedy(model)
    check_padding(model)


def test_every_layer_has_its_parameters_and_keys_have_no_bias():
    shapes = Transformer(small("transformer", encoder_layers=1, decoder_layers=2), Sizes(26, 39)).shapes()
    assert {name for name in shapes if name.endswith("k.bias")} == set()
    attention, feed, norm = 4 * 16 * 16 + 3 * 16, 2 * 16 * 32 + 32 + 16, 2 * 16
    encoder, decoder = attention + feed + 2 * norm, 2 * attention + feed + 3 * norm
    ends = (26 + 40) * 16 + 16 * 40 + 40 + 2 * norm
    assert len(Parameters(shapes, 0).flat) == ends + encoder + 2 * decoder
