"""The NMT tables compared with upstream's files and with the paper's numbers."""

import gymnasium as gym
import numpy as np
import pytest

from hpo_envs.agents.models.pareto import pareto_front
from hpo_envs.tables import store
from hpo_envs.tables.datasets.nmthpo import PAIRS, SHARED_GRID
from hpo_envs.tables.datasets.nmthpo import build as nmthpo
from hpo_envs.tables.frames import natural
from tests.helpers import needs_upstream, started

MODELS = {"zhen": 118, "ruen": 176, "jaen": 150, "enja": 168, "swen": 767, "soen": 604}

# Table 4: size of the Pareto set and budget.
TABLE_4 = {"zhen": (3, 50), "ruen": (4, 50), "jaen": (5, 50), "enja": (8, 50), "swen": (14, 200), "soen": (7, 200)}


def raw(pair: str, suffix: str) -> np.ndarray:
    text = store.read(f"nmthpo/datasets/{PAIRS[pair]}.{suffix}").decode()
    return np.array([[float(x) for x in line.split()] for line in text.splitlines()])


@needs_upstream
@pytest.mark.parametrize("pair", PAIRS)
def test_every_served_number_is_upstreams(pair: str) -> None:
    """Row by row through `step`, all six metrics, in native units."""
    configs, evals = raw(pair, "hyps"), raw(pair, "evals")
    upstream = {tuple(c): tuple(e) for c, e in zip(configs.tolist(), evals.tolist(), strict=True)}
    env = started(gym.make(f"NMTHPO-{pair}-v0", budget=None))
    served = {}
    for row in range(len(configs)):
        _, reward, terminated, _, info = env.step(row)
        served[tuple(float(v) for v in info["config"].values())] = tuple(info["metrics"].values())
        assert reward == info["metrics"]["bleu"]
    assert terminated
    assert served == upstream


@needs_upstream
@pytest.mark.parametrize("pair", PAIRS)
def test_features_are_upstreams_scaled_hyperparameters(pair: str) -> None:
    t = store.load(f"nmthpo/{pair}")
    assert np.abs(t.features - raw(pair, "hyps_scaled")[t.source_index]).max() <= 0.0005


@needs_upstream
@pytest.mark.parametrize("pair", PAIRS)
def test_pareto_fronts_are_upstreams(pair: str) -> None:
    t = store.load(f"nmthpo/{pair}")
    rewards = np.stack([t.final("bleu"), -t.final("decoding_seconds")], axis=1)
    front = pareto_front(rewards)
    assert np.array_equal(front, raw(pair, "fronts")[t.source_index, 0] == 1)
    assert front.sum() == TABLE_4[pair][0]


@pytest.mark.parametrize("pair", PAIRS)
def test_grid_order(pair: str) -> None:
    t = natural(store.load(f"nmthpo/{pair}"))
    assert len(t) == MODELS[pair]
    cells = [tuple(c) for c in nmthpo.grid(pair)]
    index = [cells.index(tuple(c)) for c in t.configs]
    assert index == sorted(index)
    whole = store.load(f"nmthpo/{pair}-grid")
    assert len(whole) == len(cells)
    assert np.array_equal(whole.values[index], t.values)


def test_cells_never_measured_are_failures_and_is_reported() -> None:
    env = gym.make("NMTHPO-v0")
    _, info = env.reset(seed=0, options={"table": "zhen"})
    assert info["table"] == "nmthpo/zhen-grid"
    t = env.unwrapped.table
    failed = np.flatnonzero(t.status[:, 0] == 1)
    assert len(failed) == 216 - MODELS["zhen"]
    action = np.array(np.unravel_index(failed[0], (3, 2, 3, 2, 2, 3)))
    _, reward, _, _, info = env.step(action)
    assert (reward, info["status"]) == (0.0, "failed")
    measured = store.load("nmthpo/zhen")
    for name in ("decoding_seconds", "perplexity", "updates", "gpu_memory", "parameters"):
        assert info["metrics"][name] == measured.final(name).max()


def test_grid_id_draws_all_four_tables_and_sets_values() -> None:
    env = gym.make("NMTHPO-v0")
    names = {env.reset(seed=s)[1]["table"] for s in range(40)}
    assert names == {f"nmthpo/{p}-grid" for p in SHARED_GRID}
    env.reset(seed=0, options={"table": "jaen"})
    _, _, _, _, info = env.step(np.array([2, 1, 0, 1, 0, 2]))
    assert info["config"] == {
        "bpe": 50000, "layers": 4, "embed": 256, "hidden": 2048, "heads": 8, "init_lr": 0.001,
    }  # fmt: skip
