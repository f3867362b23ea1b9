from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from hpo_envs.tables.datasets.charmini.training.layers import (  # noqa: E402
    Dropout,
    PackedLSTM,
    Parameters,
    bound,
    layer_norm,
)


def inputs(sizes, start):
    generator = torch.Generator().manual_seed(0)

    def some(*shape):
        return torch.randn(*shape, dtype=torch.float64, generator=generator).requires_grad_()

    return some(sum(sizes), 3), some(sizes[0], 2) if start else None, some(3, 8), some(2, 8), some(8), sizes


@pytest.mark.parametrize("start", [False, True])
@pytest.mark.parametrize("sizes", [[3, 3, 2, 1], [2]])
def test_derivatives_of_the_lstm_are_right(start, sizes):
    assert torch.autograd.gradcheck(PackedLSTM.apply, inputs(sizes, start))


def test_the_lstm_is_torchs():
    x, start, wx, wh, bias, sizes = inputs([3, 3, 2, 1], True)
    packed = torch.nn.utils.rnn.PackedSequence(x, torch.tensor(sizes))
    lstm = torch.nn.LSTM(3, 2, dtype=torch.float64)
    # torch's gates are input, forget, content, output.
    order = [0, 1, 2, 3, 6, 7, 4, 5]
    with torch.no_grad():
        lstm.weight_ih_l0.copy_(wx.t()[order])
        lstm.weight_hh_l0.copy_(wh.t()[order])
        lstm.bias_ih_l0.copy_(bias[order])
        lstm.bias_hh_l0.zero_()
        expected, _ = lstm(packed, (start[None], torch.zeros_like(start)[None]))
    np.testing.assert_allclose(PackedLSTM.apply(x, start, wx, wh, bias, sizes).detach(), expected.data, rtol=1e-12)


def test_initial_parameters_lie_within_their_bounds_and_biases_are_zero():
    shapes = {"w": ((30, 40), bound(30, 40)), "b": ((40,), 0.0), "g": ((5,), -1.0)}
    parameters = Parameters(shapes, 7)
    w = parameters.views["w"].detach().numpy()
    assert 0.95 * bound(30, 40) < np.abs(w).max() <= bound(30, 40)
    assert np.unique(w).size == w.size
    assert not parameters.views["b"].any()
    assert bool((parameters.views["g"] == 1.0).all())
    parameters.flat[0] = 5.0
    assert parameters.views["w"][0, 0] == 5.0
    assert parameters.gradient((parameters.views["w"] ** 2).sum() + sum(v.sum() for v in parameters.views.values()))[
        0
    ] == pytest.approx(11.0)


def test_dropout_keeps_the_mean_and_differs_from_call_to_call():
    x = torch.ones(100, 50, dtype=torch.float64)
    drop = Dropout(0.3, 5)
    one, two = drop(x), drop(x)
    assert abs(float((one == 0).double().mean()) - 0.3) < 0.03
    assert float(one.max()) == pytest.approx(1 / 0.7, rel=1e-4)
    assert not torch.equal(one, two)
    assert torch.equal(one, Dropout(0.3, 5)(x))
    assert Dropout(0.3, None)(x) is x


def test_layer_norm_has_mean_zero_and_deviation_one():
    x = torch.arange(12, dtype=torch.float64).reshape(3, 4)
    normed = layer_norm(x, torch.ones(4, dtype=torch.float64), torch.zeros(4, dtype=torch.float64))
    np.testing.assert_allclose(normed.mean(1), 0.0, atol=1e-12)
