"""Layers, both architectures, and whole trainings."""

import hashlib

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from hpo_envs.families.charmini import measure  # noqa: E402
from hpo_envs.families.charmini.training.batches import Packed, Sizes, corpus  # noqa: E402
from hpo_envs.families.charmini.training.layers import Dropout, PackedLSTM, ParameterArray, bound, layer_norm  # noqa: E402
from hpo_envs.families.charmini.training.lstm import AttentiveLSTM  # noqa: E402
from hpo_envs.families.charmini.training.run import Diverged, WordTraining, key_of  # noqa: E402
from hpo_envs.families.charmini.training.transformer import Transformer  # noqa: E402
from hpo_envs.tables.datasets.charmini.build import packing  # noqa: E402
from hpo_envs.tables.datasets.charmini.space import configuration  # noqa: E402

SMALL = {"embedding_size": 16, "hidden_size": 32, "batch_size": 32, "learning_rate": 0.01}


def small(architecture, **changed):
    """The first drawn configuration, reduced in size."""
    return configuration(architecture, 0) | SMALL | changed


def check_greedy(model):
    """Greedy decoding returns the likeliest symbols by the scores of whole sequences, in any batch."""
    views = ParameterArray(model.shapes(), 3).views
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
    views = ParameterArray(model.shapes(), 3).views

    def scores(words):
        spoken = Packed(words.spoken + 1)
        inputs = spoken.pack(np.hstack([np.full((len(words), 1), boundary), words.phonemes]))
        with torch.no_grad():
            packed = model.logits(views, words, spoken, inputs, Dropout(0.0, None)).numpy()
        at = np.argsort(spoken.order)[0]
        return packed[spoken.place[at][spoken.inside[at]]]

    words, boundary = corpus("eng").parts["test"][:20], 39
    np.testing.assert_allclose(scores(words), scores(words[np.array([0])]), atol=1e-12)


def inputs(sizes, start):
    generator = torch.Generator().manual_seed(0)

    def some(*shape):
        return torch.randn(*shape, dtype=torch.float64, generator=generator).requires_grad_()

    return some(sum(sizes), 3), some(sizes[0], 2) if start else None, some(3, 8), some(2, 8), some(8), sizes


@pytest.mark.parametrize("start", [False, True])
@pytest.mark.parametrize("sizes", [[3, 3, 2, 1], [2]])
def test_derivatives_of_lstm_are_right(start, sizes):
    assert torch.autograd.gradcheck(PackedLSTM.apply, inputs(sizes, start))


def test_lstm_is_torchs():
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
    parameters = ParameterArray(shapes, 7)
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


def test_dropout_keeps_mean_and_differs_from_call_to_call():
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


@pytest.mark.parametrize("layers", [1, 2])
def test_greedy_decoding_and_whole_sequences_agree_in_lstms(layers):
    model = AttentiveLSTM(small("lstm", encoder_layers=layers), Sizes(26, 39))
    check_greedy(model)
    check_padding(model)


@pytest.mark.parametrize("heads", [2, 8])
def test_greedy_decoding_and_whole_sequences_agree_in_transformers(heads):
    model = Transformer(small("transformer", encoder_layers=2, decoder_layers=2, attention_heads=heads), Sizes(26, 39))
    check_greedy(model)
    check_padding(model)


def test_every_layer_has_its_parameters_and_keys_have_no_bias():
    shapes = Transformer(small("transformer", encoder_layers=1, decoder_layers=2), Sizes(26, 39)).shapes()
    assert {name for name in shapes if name.endswith("k.bias")} == set()
    attention, feed, norm = 4 * 16 * 16 + 3 * 16, 2 * 16 * 32 + 32 + 16, 2 * 16
    encoder, decoder = attention + feed + 2 * norm, 2 * attention + feed + 3 * norm
    ends = (26 + 40) * 16 + 16 * 40 + 40 + 2 * norm
    assert len(ParameterArray(shapes, 0).flat) == ends + encoder + 2 * decoder


GOLDEN = {"lstm": "a76be2ac4340d87a", "transformer": "99c57b562beb0c9d"}
"""Sha256 of the parameters after an epoch on 96 words: the same under AVX-512, AVX2 and SSE."""


def training(architecture, seed=1, **changed):
    made = WordTraining(architecture, small(architecture, **changed), seed, train=corpus("eng").parts["train"][:96])
    made._corpus = made._corpus._replace(parts={name: words[:60] for name, words in made._corpus.parts.items()})
    return made


@pytest.mark.parametrize("architecture", ["lstm", "transformer"])
def test_tiny_training_has_same_bits_everywhere_and_goes_on_from_checkpoint(architecture):
    one = training(architecture)
    first = one.epoch()
    state = {name: np.array(value) for name, value in one.state().items()}
    assert hashlib.sha256(state["parameters"].tobytes()).hexdigest()[:16] == GOLDEN[architecture]
    other = training(architecture)
    other.restore(state)
    second = one.epoch()
    assert other.epoch() == second
    assert second.loss != first.loss
    assert 0 <= second.correct <= 60
    assert np.array_equal(one.state()["parameters"], other.state()["parameters"])


def test_seeds_and_active_hyperparameters_alone_say_what_is_drawn():
    config = small("lstm")
    assert key_of("lstm", 0, config) != key_of("lstm", 1, config)
    inactive = {"warmup_samples": 0, "factor": 0.0, "min_lr": 0.0, "patience": 0}
    a, b = WordTraining("lstm", config, 0), WordTraining("lstm", config | inactive, 0)
    assert np.array_equal(a.state()["parameters"], b.state()["parameters"])


def test_infinite_loss_has_diverged():
    run = training("lstm")
    run.restore({**run.state(), "parameters": np.full(run.size, 1e308)})
    with pytest.raises(Diverged, match="epoch 1"):
        run.epoch()


def test_record_is_what_is_packed(monkeypatch):
    monkeypatch.setattr(measure, "EPOCHS", 1)
    monkeypatch.setattr(measure, "configuration", lambda architecture, draw: small("lstm", batch_size=256))
    threads = torch.get_num_threads()
    try:
        record = measure.train("eng-lstm-0-2")
    finally:
        torch.set_num_threads(threads)
    assert record["task"] == "eng-lstm-0-2"
    assert (record["status"], len(record["epochs"]), len(record["seconds"])) == ("ok", 1, 1)
    assert packing("eng").pack([record])["epochs"][packing("eng").place("eng-lstm-0-2")] == 1
