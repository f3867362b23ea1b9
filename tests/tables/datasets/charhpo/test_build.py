"""The character transduction sweeps: tables, surrogate, environments."""

from __future__ import annotations

import csv
import io
from typing import Any

import numpy as np
import pytest

from hpo_envs.tables import store
from hpo_envs.tables.datasets.charhpo import build as charhpo
from hpo_envs.tables.datasets.charhpo import model
from hpo_envs.tables.fitting import forests
from hpo_envs.tables.table import feature_matrix


def upstream(name: str) -> list[dict[str, str]]:
    content = store.read(charhpo.files(name)[0]).decode()
    return list(csv.DictReader(io.StringIO(content), delimiter="\t"))[:200]


def test_there_are_24_sweeps_with_sixteen_hyperparameters() -> None:
    assert len(charhpo.NAMES) == 24
    for architecture in charhpo.ARCHITECTURES:
        space = charhpo.space(architecture)
        assert len(space) == 16
        assert [h.name for h in space if h.log] == ["learning_rate"]
        assert [h.name for h in space if h.condition] == ["warmup_samples", "factor", "min_lr", "patience"]
    with pytest.raises(ValueError, match="did you mean 'transformer'"):
        charhpo.space("transformers")


@pytest.mark.measured
@pytest.mark.parametrize("name", charhpo.NAMES)
def test_measured_values_are_those_of_the_file(name: str) -> None:
    t, records = store.load(name, "measured"), upstream(name)
    assert t.keys == tuple(r["name"] for r in records)
    assert (t.final("accuracy") == [100 * float(r["max_val_accuracy"]) for r in records]).all()
    assert (t.final("runtime") == [float(r["_runtime"]) for r in records]).all()
    for i, r in enumerate(records):
        config = t.config(i)
        assert config["scheduler"] == r["scheduler"].lower()
        for h in t.space:
            if h.kind == "categorical":
                continue
            active = h.condition is None or config["scheduler"] in h.condition[1]
            assert config[h.name] == (float(r[charhpo.UPSTREAM.get(h.name, h.name)]) if active else 0)
    assert len(np.unique(t.configs, axis=0)) == 200, "no configuration occurs twice"


@pytest.mark.measured
def test_a_short_or_foreign_file_is_refused() -> None:
    name = charhpo.NAMES[0]
    lines = store.read(charhpo.files(name)[0]).decode().splitlines(keepends=True)
    with pytest.raises(ValueError, match="at least 200 rows, got 150"):
        charhpo.build(name, lambda _: "".join(lines[:151]).encode())
    column = lines[0].rstrip("\n").split("\t").index("batch_size")
    fields = lines[8].split("\t")
    fields[column] = "17"
    lines[8] = "\t".join(fields)
    with pytest.raises(ValueError, match=r"row 7: batch_size must follow Table 2, got 17\.0"):
        charhpo.build(name, lambda _: "".join(lines).encode())


@pytest.mark.parametrize("name", charhpo.NAMES)
def test_draws_follow_table_2(name: str) -> None:
    t = store.load(name, "surrogate")
    space = t.space
    configs = model.draws(name)
    assert (configs == t.configs).all()
    codes = configs[:, 5]
    assert 40 < (codes == 0).sum() < 95
    for j, h in enumerate(space):
        active = np.ones(200, bool) if h.condition is None else codes == charhpo.SCHEDULERS.index(h.condition[1][0])
        x = configs[active, j]
        assert (configs[~active, j] == 0).all()
        if h.low < h.high:
            # Uniform on its scale: mean 1/2 with standard deviation sqrt(1/12/n), grids a little wider.
            scaled = x / 2 if h.kind == "categorical" else h.scale(x)
            assert abs(scaled.mean() - 0.5) < 5 * 0.42 / np.sqrt(active.sum())
        if h.values and h.kind == "int":
            assert np.isin(x, h.values).all()
    assert (configs[:, 6] % 100 == 0).all()


def test_values_of_the_surrogate_are_possible_scores() -> None:
    for name in charhpo.NAMES:
        t = store.load(name, "surrogate")
        a, worth = t.final("accuracy"), model.word_worth(charhpo.NAMES.index(name))
        assert a.min() >= 0
        assert a.max() <= 100
        assert np.allclose(a / worth, np.rint(a / worth))
        assert t.final("runtime").min() > 0
        assert "Held-out error" in t.provenance.notes[1]


def test_one_configuration_and_a_batch_get_the_same_answer() -> None:
    s, tasks = model.load(), np.arange(200) % 24
    configs = np.array([model.draws(charhpo.NAMES[t])[i] for i, t in enumerate(tasks)])
    whole = s.evaluate(tasks, configs)
    for i in range(0, 200, 7):
        assert (s.evaluate(int(tasks[i]), configs[i : i + 1])[0] == whole[i]).all()
    order = np.random.default_rng(0).permutation(200)
    assert (s.evaluate(tasks[order], configs[order]) == whole[order]).all()
    assert (s.evaluate(tasks, configs, noise=False) != whole).any()


def test_inactive_hyperparameters_change_nothing() -> None:
    s, configs = model.load(), model.draws("charhpo/g2p-geo-lstm")
    loud = configs.copy()
    loud[loud[:, 5] != 2, 6] = 4e6
    loud[loud[:, 5] != 1, 7] = 0.7
    assert (s.evaluate(3, configs) == s.evaluate(3, loud)).all()


def test_inputs_are_the_features_of_the_table() -> None:
    for arch, architecture in enumerate(charhpo.ARCHITECTURES):
        configs = model.draws(f"charhpo/inflection-rom-{architecture}")
        _, features = feature_matrix(charhpo.space(architecture), configs)
        x = model.inputs(arch, np.full(200, 14 + arch), configs)
        numbers = np.delete(features, [5, 6, 7], axis=1)
        assert (x[:, :15] == np.rint(numbers * model.UNIT)).all()
        assert (x[:, 15] == configs[:, 5]).all()
        assert (x[:, 16] == 7).all()


def walk(features: Any, thresholds: Any, leaves: Any, row: Any) -> int:
    total = 0
    for f, t, v in zip(features, thresholds, leaves, strict=True):
        node = 0
        while node < forests.SPLITS:
            node = 2 * node + (1 if row[f[node]] <= t[node] else 2)
        total += int(v[node - forests.SPLITS])
    return total


def test_compiled_trees_equal_a_walk_down_each_tree() -> None:
    rng = np.random.default_rng(3)
    features = rng.integers(0, 6, (7, 31)).astype(np.uint8)
    thresholds = np.where(features < 3, rng.integers(0, 50, (7, 31)), 0).astype(np.uint16)
    leaves = rng.integers(-999, 999, (7, 32)).astype(np.int16)
    compiled = forests.compile_forest(features, thresholds, leaves, (1, 1, 1, 3), 50)
    x = np.column_stack([rng.integers(0, 50, (300, 3)), rng.integers(0, 3, 300)])
    expanded = np.hstack([x[:, :3], x[:, 3:] == np.arange(3)])
    assert compiled(x).tolist() == [walk(features, thresholds, leaves, row) for row in expanded]
    assert [int(compiled(row[None])[0]) for row in x] == compiled(x).tolist()


@pytest.mark.measured
def test_refitting_gives_the_shipped_trees() -> None:
    import sklearn

    from hpo_envs.tables.datasets.charhpo import fit as fit_charhpo

    if sklearn.__version__.split(".")[:2] != fit_charhpo.FITTED_WITH.split(".")[:2]:
        pytest.skip("another scikit-learn draws other subsamples")
    shipped = model.load()
    _, x, score, _, _ = fit_charhpo.sweeps(1)
    features, thresholds, leaves, base = fit_charhpo.train(0, x, score)
    assert (features == shipped.features[1, 0]).all()
    assert (thresholds == shipped.thresholds[1, 0]).all()
    assert np.abs(leaves.astype(int) - shipped.leaves[1, 0]).max() <= 1
    assert base == pytest.approx(float(shipped.base[1, 0]))


@pytest.mark.measured
def test_the_surrogate_looks_like_the_sweeps() -> None:
    from hpo_envs.benchmarks.analysis import sensitivity

    pairs = {m: [] for m in ("mean@100", "rel@150", "equivalent", "change")}  # type: ignore[var-annotated]
    for name in charhpo.NAMES:
        a = sensitivity.analyse(store.load(name, "measured"))
        b = sensitivity.analyse(store.load(name, "surrogate"))
        for m, found in pairs.items():
            found.append((a[m], b[m]))
    # Spread over the tasks as measured; the draws of a task are other configurations than the sweep's.
    for m, low in (("mean@100", 0.9), ("rel@150", 0.8), ("equivalent", 0.9), ("change", 0.8)):
        x, y = np.array(pairs[m]).T
        assert np.corrcoef(x, y)[0, 1] > low
        assert abs(y.mean() / x.mean() - 1) < 0.1
