"""The NMT tables compared with upstream's files and with the paper's numbers."""

import gymnasium as gym
import numpy as np
import pytest

from hpo_envs.agents.models.pareto import pareto_front
from hpo_envs.tables import store
from hpo_envs.tables.datasets.nmthpo import PAIRS, SHARED_GRID
from hpo_envs.tables.datasets.nmthpo import build as nmthpo
from hpo_envs.tables.frames import natural
from tests.helpers import needs_upstream

# Table 2 of Zhang and Duh 2020: number of models, best BLEU and its configuration.
TABLE_2 = {
    "zhen": (118, 14.66, (30000, 4, 512, 1024, 16, 3e-4)),
    "ruen": (176, 20.23, (10000, 4, 256, 2048, 8, 3e-4)),
    "jaen": (150, 16.41, (30000, 4, 512, 2048, 8, 3e-4)),
    "enja": (168, 20.74, (10000, 4, 1024, 2048, 8, 3e-4)),
    "swen": (767, 26.09, (1000, 2, 256, 1024, 8, 6e-4)),
    "soen": (604, 11.23, (8000, 2, 512, 1024, 8, 3e-4)),
}

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
    env = gym.make(f"NMTHPO-{pair}-v0", budget=None)
    env.reset(seed=0)
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
def test_table_2(pair: str) -> None:
    models, best, config = TABLE_2[pair]
    t = store.load(f"nmthpo/{pair}")
    bleu = t.final("bleu")
    assert len(t) == models
    assert bleu.max() == best
    winners = [tuple(t.configs[i]) for i in np.flatnonzero(bleu == best)]
    assert tuple(float(v) for v in config) in winners
    # On zh-en the number of BPE symbols changes nothing: three rows tie.
    assert len(winners) == (3 if pair == "zhen" else 1)


@pytest.mark.parametrize("pair", PAIRS)
def test_grid_order(pair: str) -> None:
    t = natural(store.load(f"nmthpo/{pair}"))
    assert len(t) == TABLE_2[pair][0]
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
    assert len(failed) == 216 - 118
    action = np.array(np.unravel_index(failed[0], (3, 2, 3, 2, 2, 3)))
    _, reward, _, _, info = env.step(action)
    assert reward == 0.0
    assert info["status"] == "failed"
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
