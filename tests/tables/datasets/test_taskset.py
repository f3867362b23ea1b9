"""TaskSet: numbers that ship, the scale of decay rates near 1, and diverged runs."""

import gymnasium as gym
import numpy as np
import pytest

from hpo_envs.benchmarks.runs.transfer import columns
from hpo_envs.integrations.optuna.studies import _distribution
from hpo_envs.tables import store
from hpo_envs.tables.datasets.taskset import KEPT
from hpo_envs.tables.datasets.taskset.build import NAMES
from hpo_envs.tables.table import Hyperparameter
from hpo_envs.tables.user.space import to_configspace

HALF = Hyperparameter("momentum", "float", 1e-4, 1.0, log=True, complement=True)


def test_kept_checkpoints_are_those_of_the_rule() -> None:
    assert tuple(dict.fromkeys(np.rint(np.geomspace(1, 50, 13)).astype(int).tolist())) == KEPT


def test_tables_share_their_configurations_and_the_order_of_draws() -> None:
    tables = [store.load(name) for name in NAMES]
    drawn = [t.configs[np.argsort(t.source_index)] for t in tables]
    assert (len(tables), {len(t) for t in tables}) == (12, {1000})
    assert all((d == drawn[0]).all() for d in drawn)
    scaled = np.sort(tables[0].features, axis=0)
    assert np.abs(scaled - np.linspace(0, 1, 1000)[:, None]).max() < 0.06  # drawn uniformly on these scales


def test_decays_have_their_natural_value_everywhere_and_the_scale_of_what_they_lack() -> None:
    table = store.load("taskset/lstm128")
    config = table.config(3)
    assert table.configs[3, 1] == pytest.approx(1.0 - config["beta1"])
    assert table.features[3, 1] == pytest.approx(1.0 + np.log10(1.0 - config["beta1"]) / 4)
    assert table.index_of(config) == 3
    assert table.to_frame()["beta1"].max() == table.config(int(table.features[:, 1].argmin()))["beta1"]
    env, batch = gym.make("TaskSet-lstm128-v0"), gym.make_vec("TaskSetLC-lstm128-v0", num_envs=1)
    env.reset(seed=0), batch.reset(seed=0)
    assert env.step(3)[4]["config"] == config
    assert {k: v[0] for k, v in batch.step(np.array([[3, 11]]))[4]["config"].items() if k in config} == config


def test_bounds_and_errors_of_complements_are_natural_values() -> None:
    assert (HALF.bounds, HALF.natural(HALF.stored(0.9))) == ((0.0, 0.9999), 0.9)
    with pytest.raises(ValueError, match=r"momentum must be a number in \[0, 0\.9999\], got 1\.0"):
        HALF.stored(1.0)


def test_other_packages_get_the_natural_range() -> None:
    optuna, _ = pytest.importorskip("optuna"), pytest.importorskip("ConfigSpace")
    table = store.load("taskset/lstm128")
    found = _distribution(optuna, "beta2", [0.5], table)
    assert (found.low, found.high, found.log) == (0.0, 0.999999, False)
    made = to_configspace((HALF,))["momentum"]
    assert (made.lower, made.upper, made.log) == (0.0, 0.9999, False)


def test_transfer_places_a_value_on_the_scale_of_the_target() -> None:
    """CharMini stores beta1 itself, from 0.8 to 0.999."""
    source, target = store.load("taskset/lstm128"), store.load("charmini/eng-lstm")
    features, names = columns(source, target)
    at = [n for n in (*target.feature_names, *names) if n in source.feature_names].index("beta1")
    beta1 = np.array([source.config(row)["beta1"] for row in range(len(source))])
    assert features[:, at] == pytest.approx((beta1 - 0.8) / 0.199)


def test_a_diverged_run_has_the_worst_loss_and_costs_what_it_trained() -> None:
    table = store.load("taskset/irnn64")
    assert int((table.status > 0).sum()) == 245
    row = int(np.flatnonzero(table.status[:, 0])[0])
    env = gym.make("TaskSetLC-irnn64-v0")
    env.reset(seed=0)
    _, reward, *_, info = env.step([row, 11])
    assert (reward, info["status"], info["cost"], info["held_out"]) == (-10.0, "diverged", 200.0, {"test_loss": 10.0})
