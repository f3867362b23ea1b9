"""CharMini: configurations, costs, facts, packed trainings, and tables."""

from dataclasses import fields

import numpy as np
import pytest

from hpo_envs.tables.datasets.charhpo import hyperparameters as charhpo
from hpo_envs.tables.datasets.charmini import LANGUAGES, SHARED_TASK, build, cost, facts
from hpo_envs.tables.datasets.charmini.build import packing
from hpo_envs.tables.datasets.charmini.space import active, configuration, drawn, space
from tests.helpers import needs_upstream, rejects
from tests.hpo_envs.families.training.test_training import record


@pytest.mark.parametrize("architecture", ["lstm", "transformer"])
def test_axes_are_those_of_charhpo(architecture):
    ours, theirs = space(architecture), charhpo.space(architecture)
    assert [[(h.name, h.kind, h.log, h.condition) for h in space] for space in (ours, theirs)]


@pytest.mark.parametrize("architecture", ["lstm", "transformer"])
def test_draws_are_distinct_within_their_ranges_and_cover_them(architecture):
    configs = drawn(architecture)
    assert len(np.unique(configs, axis=0)) == len(configs) == 128
    for h, column in zip(space(architecture), configs.T, strict=True):
        values = column if h.condition is None else column[column != 0]
        assert ((values >= h.low) & (values <= h.high)).all()
        if h.values and len(h.values) < 20 and h.kind != "categorical":
            assert set(values) == set(h.values)
        elif h.low < h.high:
            assert np.quantile(h.scale(values), [0.1, 0.9]) == pytest.approx([0.1, 0.9], abs=0.15)


def test_configuration_has_what_is_active():
    config = configuration("lstm", 0)
    assert config["scheduler"] == "none"
    assert not {"patience", "warmup_samples"} & set(config)
    assert type(config["batch_size"]) is int
    assert active("lstm", {**config, "patience": 0, "batch_size": np.float64(64)})["batch_size"] == 64


def test_unknown_architectures_are_rejected():
    rejects("architecture must be one of lstm, transformer, got 'ltsm', did you mean", space, "ltsm")


@pytest.mark.parametrize("architecture", ["lstm", "transformer"])
def test_larger_models_and_smaller_batches_cost_more(architecture):
    config = configuration(architecture, 0) | {"batch_size": 64, "hidden_size": 64, "embedding_size": 32}
    base = cost.epoch(architecture, config)
    assert 0.05 < base < 5.0
    for name, value in (("batch_size", 32), ("hidden_size", 128), ("embedding_size", 64)):
        assert cost.epoch(architecture, config | {name: value}) > base


def test_work_of_small_lstm():
    config = {"batch_size": 150, "embedding_size": 2, "hidden_size": 4, "encoder_layers": 1, "decoder_layers": 1}
    steps, multiplications, fixed = cost.work("lstm", config)
    assert (steps, fixed) == (10 * (18 + 11), 1.0)
    letter, phoneme = 16 * (2 + 2), 16 * (2 + 4) + 3 * 16 + 160
    assert multiplications == pytest.approx(2e-9 * 5500 * (6.7 * letter + 6.65 * phoneme))


@needs_upstream
@pytest.mark.parametrize("language", SHARED_TASK)
def test_others_are_counted_in_their_files(language):
    assert facts.of(language) == facts.counted(language)


def test_development_and_test_sets_have_sizes_that_rates_are_divided_by():
    for language in SHARED_TASK:
        of = facts.of(language)
        assert 250 < of.development < 450
        assert 250 < of.test < 450
        assert 1.0 < of.development_phonemes / of.development < 10.0


def test_unknown_languages_are_rejected():
    rejects("language must be one of eng, ady, .*, got 'rom', did you mean 'rum'", facts.of, "rom")


def test_fields_are_those_of_epoch():
    pytest.importorskip("torch")
    from hpo_envs.families.charmini.training.run import WordScores

    of = packing("hun")
    assert of.fields == tuple(field.name for field in fields(WordScores))
    assert {*of.counts, *of.losses} == {*of.fields}


@pytest.mark.parametrize("language", LANGUAGES)
def test_what_ships_fits_and_is_complete(language):
    of = packing(language)
    arrays, empty = of.load(), of.pack([])
    assert {name: values.shape for name, values in arrays.items() if name != "machines"} == {
        name: values.shape for name, values in empty.items() if name != "machines"
    }
    assert of.complete(arrays) == {f"{language}-lstm": 64, f"{language}-transformer": 64}


PACKING = packing("eng")


def arrays(rows=3):
    records = [record(task, 100 + draw) for draw in range(rows) for task in (f"eng-lstm-{draw}-{s}" for s in range(3))]
    records[4] = record("eng-lstm-1-1", 10, status="diverged", epochs=6)
    return PACKING.pack(records)


def test_table_has_what_was_measured():
    table = build.assemble("charmini/eng-lstm", arrays())
    assert (table.values.shape, table.values[2, 0, -1, 0]) == ((3, 3, 20, len(build.METRICS)), pytest.approx(20.4))
    assert table.values[0, 0, 0, table.metric("test_accuracy")] == 1.0
    assert np.isnan(table.values[1, 1]).any(axis=1).tolist() == [False] * 6 + [True] * 14
    assert table.status.tolist() == [[0, 0, 0], [0, 2, 0], [0, 0, 0]]
    assert table.config(1)["batch_size"] == configuration("lstm", 1)["batch_size"]
    assert table.cost[2, 0] == pytest.approx(cost.epoch("lstm", configuration("lstm", 2)) * np.arange(1, 21))
    assert (table.provenance.kind, table.provenance.licence) == ("measured", "MIT AND BSD-2-Clause")
    assert {m.name for m in table.metrics} >= set(build.HELD_OUT)


def test_configurations_after_one_that_lacks_seed_are_left_out():
    kept = PACKING.pack(
        [record(f"eng-lstm-{draw}-{seed}", 100) for draw in (0, 1, 3) for seed in range(3 - (draw == 1))]
    )
    assert len(build.assemble("charmini/eng-lstm", kept)) == 1
    assert len(build.assemble("charmini/eng-lstm", PACKING.pack([record("eng-lstm-1-2", 100)], kept))) == 2


def test_error_rates_are_capped():
    accuracy, errors = build.rates(np.array([250.0]), np.array([1e5]), "eng", "development")
    assert (accuracy[0], errors[0]) == (50.0, 200.0)
