"""The sweeps of CharHPO: names, spaces, measured tables, and the surrogate with its forests."""

import csv
import io
from typing import Any

import numpy as np
import pytest

from hpo_envs.tables import store
from hpo_envs.tables.datasets import charhpo as names
from hpo_envs.tables.datasets.charhpo import SCHEDULERS, forests, model, pack
from hpo_envs.tables.datasets.charhpo import build as charhpo
from hpo_envs.tables.datasets.charhpo import space as encoding
from hpo_envs.tables.datasets.charhpo.hyperparameters import deactivate, space
from hpo_envs.tables.table import feature_matrix
from tests.helpers import needs_upstream, raises


def test_names_are_their_parts() -> None:
    assert ([names.parts(name) for name in names.TABLES], len(set(names.TABLES))) == (list(names.SWEEPS), 24)


def test_both_architectures_have_same_names() -> None:
    lstm, transformer = space("lstm"), space("transformer")
    assert ([h.name for h in lstm], len(lstm)) == ([h.name for h in transformer], 16)
    assert {h.name for h in lstm if h.values == (1,)} == {"decoder_layers", "attention_heads"}
    with raises("architecture must be one of lstm, transformer, got 'lstms', did you mean 'lstm'?"):
        space("lstms")


@pytest.mark.parametrize(
    ("scheduler", "inactive"),
    [
        ("none", {"warmup_samples", "factor", "min_lr", "patience"}),
        ("reduceonplateau", {"warmup_samples"}),
        ("warmupinvsqrt", {"factor", "min_lr", "patience"}),
    ],
)
def test_scheduler_has_its_own_settings(scheduler: str, inactive: set[str]) -> None:
    hyperparameters = space("lstm")
    names = [h.name for h in hyperparameters]
    configs = np.ones((1, len(names)))
    configs[0, names.index("scheduler")] = SCHEDULERS.index(scheduler)
    off = deactivate(hyperparameters, configs)
    zeros = {name for name, value in zip(names, off[0], strict=True) if value == 0.0}
    assert zeros - {"scheduler"} == inactive
    assert (configs[0, [names.index(n) for n in inactive]] == 1.0).all(), "a copy is returned"


def test_actions_map_onto_table_2() -> None:
    u = np.random.default_rng(0).uniform(size=(500, 16))
    u[0], u[1] = 0.0, 1.0
    for arch, architecture in enumerate(names.ARCHITECTURES):
        space = charhpo.space(architecture)
        got = encoding.configurations(np.full(500, arch), u)
        expected = np.column_stack([encoding.natural(h, u[:, j]) for j, h in enumerate(space)])
        assert np.allclose(got, charhpo.deactivate(space, expected), rtol=1e-12, atol=0)
        for j, h in enumerate(space):
            active = got[:, j] if h.condition is None else got[got[:, j] != 0, j]
            assert active.min() >= h.low
            assert active.max() <= h.high


@pytest.mark.parametrize("architecture", names.ARCHITECTURES)
def test_actions_of_configurations_are_inverse(architecture: str) -> None:
    space, arch = charhpo.space(architecture), [*names.ARCHITECTURES].index(architecture)
    raw = encoding.configurations(np.full(100, arch), np.random.default_rng(1).uniform(size=(100, 16)))
    for row in raw:
        config = {h.name: h.natural(v) for h, v in zip(space, row, strict=True)}
        action = encoding.action_of(space, config)
        assert ((action >= -1) & (action <= 1)).all()
        back = encoding.configurations(np.array([arch]), (action[None].astype(np.float64) + 1) / 2)[0]
        assert back == pytest.approx(row, rel=2e-6, abs=1e-7)


def test_what_is_missing_or_inactive_is_zero() -> None:
    space = charhpo.space("lstm")
    assert not encoding.action_of(space, {}).any()
    action = encoding.action_of(space, {"scheduler": "none", "factor": 7.0, "batch_size": 16})
    assert [h.name for h, a in zip(space, action, strict=True) if a] == ["batch_size", "scheduler"]


def walk(features: Any, thresholds: Any, leaves: Any, row: Any) -> int:
    total = 0
    for f, t, v in zip(features, thresholds, leaves, strict=True):
        node = 0
        while node < forests.SPLITS:
            node = 2 * node + (1 if row[f[node]] <= t[node] else 2)
        total += int(v[node - forests.SPLITS])
    return total


def test_compiled_trees_equal_walk_down_each_tree() -> None:
    rng = np.random.default_rng(3)
    features = rng.integers(0, 6, (7, 31)).astype(np.uint8)
    thresholds = np.where(features < 3, rng.integers(0, 50, (7, 31)), 0).astype(np.uint16)
    leaves = rng.integers(-999, 999, (7, 32)).astype(np.int16)
    compiled = forests.compile_forest(features, thresholds, leaves, (1, 1, 1, 3), 50)
    x = np.column_stack([rng.integers(0, 50, (300, 3)), rng.integers(0, 3, 300)])
    expanded = np.hstack([x[:, :3], x[:, 3:] == np.arange(3)])
    assert compiled(x).tolist() == [walk(features, thresholds, leaves, row) for row in expanded]
    assert [int(compiled(row[None])[0]) for row in x] == compiled(x).tolist()


def upstream(name: str) -> list[dict[str, str]]:
    content = store.read(pack.file_of(name)).decode()
    return list(csv.DictReader(io.StringIO(content), delimiter="\t"))[:200]


@needs_upstream
@pytest.mark.parametrize("name", charhpo.NAMES)
def test_measured_values_are_those_of_file(name: str) -> None:
    t, lines = store.load(name), upstream(name)
    records = [lines[i] for i in t.source_index]
    assert t.keys == tuple(r["name"] for r in records)
    assert (t.final("accuracy") == [100 * float(r["max_val_accuracy"]) for r in records]).all()
    assert (t.final("runtime") == [float(r["_runtime"]) for r in records]).all()
    paths = {tuple(s.split("\t")[:2]): s.split("\t")[3] for s in store.read(pack.TEST_FILE).decode().splitlines()}
    task, lang, architecture = names.parts(name)
    path = paths[names.LANGUAGES[task][lang], names.ARCHITECTURES[architecture]]
    tested = [r["local_run_dir"] == path for r in records]
    if name != "charhpo/g2p-dut-lstm":  # its path is of no run in the file
        assert (~np.isnan(t.final("test_accuracy"))).tolist() == tested
    for i, r in enumerate(records):
        config = t.config(i)
        assert config["scheduler"] == r["scheduler"].lower()
        for h in t.space:
            if h.kind == "categorical":
                continue
            active = h.condition is None or config["scheduler"] in h.condition[1]
            assert config[h.name] == (float(r[pack.UPSTREAM.get(h.name, h.name)]) if active else 0)
    assert len(np.unique(t.configs, axis=0)) == 200, "no configuration occurs twice"


@pytest.mark.parametrize("name", charhpo.NAMES)
def test_draws_follow_table_2(name: str) -> None:
    t = model.table(name)
    space = t.space
    configs = model.draws(name)
    assert (configs[t.source_index] == t.configs).all()
    codes = configs[:, 5]
    assert 40 < (codes == 0).sum() < 95
    for j, h in enumerate(space):
        active = np.ones(200, bool) if h.condition is None else codes == SCHEDULERS.index(h.condition[1][0])
        x = configs[active, j]
        assert (configs[~active, j] == 0).all()
        if h.low < h.high:
            # Uniform on its scale: mean 1/2 with standard deviation sqrt(1/12/n), grids a little wider.
            scaled = x / 2 if h.kind == "categorical" else h.scale(x)
            assert abs(scaled.mean() - 0.5) < 5 * 0.42 / np.sqrt(active.sum())
        if h.values and h.kind == "int":
            assert np.isin(x, h.values).all()
    assert (configs[:, 6] % 100 == 0).all()


def test_values_of_surrogate_are_possible_scores() -> None:
    for name in charhpo.NAMES:
        t = model.table(name)
        a, worth = t.final("accuracy"), model.WORDS[charhpo.NAMES.index(name)]
        assert a.min() >= 0
        assert a.max() <= 100
        assert np.allclose(a / worth, np.rint(a / worth))
        assert t.final("runtime").min() > 0


def test_one_configuration_and_batch_get_same_answer() -> None:
    s, tasks = model.load(), np.arange(200) % 24
    configs = np.array([model.draws(charhpo.NAMES[t])[i] for i, t in enumerate(tasks)])
    whole = s.evaluate(tasks, configs)
    for i in range(0, 200, 7):
        assert (s.evaluate(int(tasks[i]), configs[i : i + 1])[0] == whole[i]).all()
    order = np.random.default_rng(0).permutation(200)
    assert (s.evaluate(tasks[order], configs[order]) == whole[order]).all()
    assert (s.evaluate(tasks, configs, noise=False) != whole).any()


def test_scores_lie_on_curves_of_their_task() -> None:
    s = model.load()
    tasks = np.repeat([2, 3], 9)
    predicted = np.tile(np.linspace(-2.0, 2.0, 9), 2)
    flat, up = (s.score(tasks, predicted, np.full(18, e)) for e in (0.0, 0.5))
    for t in (2, 3):
        here = tasks == t
        assert flat[here] == pytest.approx(np.interp(predicted[here], model.KNOTS, s.level[t]))
        noise = np.interp(predicted[here], model.KNOTS, s.noise[t])
        assert (up - flat)[here] == pytest.approx(0.5 * noise, abs=1e-9)
    assert (s.score(tasks, predicted, np.full(18, 99.0)) == model.SCORES[1]).all()


def test_inactive_hyperparameters_change_nothing() -> None:
    s, configs = model.load(), model.draws("charhpo/g2p-geo-lstm")
    loud = configs.copy()
    loud[loud[:, 5] != 2, 6] = 4e6
    loud[loud[:, 5] != 1, 7] = 0.7
    assert (s.evaluate(3, configs) == s.evaluate(3, loud)).all()


def test_inputs_are_features_of_table() -> None:
    for arch, architecture in enumerate(names.ARCHITECTURES):
        configs = model.draws(f"charhpo/inflection-rom-{architecture}")
        _, features = feature_matrix(charhpo.space(architecture), configs)
        x = model.inputs(arch, np.full(200, 14 + arch), configs)
        numbers = np.delete(features, [5, 6, 7], axis=1)
        assert (x[:, :15] == np.rint(numbers * model.UNIT)).all()
        assert (x[:, 15] == configs[:, 5]).all()
        assert (x[:, 16] == 7).all()
