"""Names, spaces and forests of the sweeps' surrogate."""

from typing import Any

import numpy as np
import pytest

from hpo_envs.tables.datasets import charhpo as names
from hpo_envs.tables.datasets.charhpo import SCHEDULERS, forests
from hpo_envs.tables.datasets.charhpo import build as charhpo
from hpo_envs.tables.datasets.charhpo import space as encoding
from hpo_envs.tables.datasets.charhpo.hyperparameters import deactivate, space
from tests.helpers import raises


def test_names_are_their_parts() -> None:
    assert [names.parts(name) for name in names.TABLES] == list(names.SWEEPS)
    assert len(set(names.TABLES)) == 24


def test_both_architectures_have_same_names() -> None:
    lstm, transformer = space("lstm"), space("transformer")
    assert [h.name for h in lstm] == [h.name for h in transformer]
    assert len(lstm) == 16
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
