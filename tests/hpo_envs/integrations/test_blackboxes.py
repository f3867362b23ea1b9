"""Blackboxes of Syne Tune, made with the real package, as environments. Skipped where Syne Tune is absent."""

from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pandas as pd
import pytest

from hpo_envs.benchmarks import run
from hpo_envs.integrations.syne_tune import from_blackbox, to_blackbox
from hpo_envs.tables import store


@pytest.fixture
def spaces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setenv("SYNETUNE_FOLDER", str(tmp_path))
    pytest.importorskip("syne_tune.blackbox_repository", reason="Syne Tune is not installed")
    import syne_tune.config_space

    return syne_tune.config_space


def tabular(spaces: Any, objectives: tuple[str, ...] = ("metric_valid_error", "metric_train_loss")) -> Any:
    """Six configurations, two seeds, three epochs; one run stopped after the first epoch."""
    from syne_tune.blackbox_repository.blackbox_tabular import BlackboxTabular

    frame = pd.DataFrame(
        [(lr, layers, act) for lr in (1e-4, 1e-3, 1e-2) for layers, act in ((1, "relu"), (4, "tanh"))],
        columns=["lr", "layers", "act"],
    )
    rng = np.random.default_rng(0)
    values = rng.random((6, 2, 3, len(objectives) + 1))
    values[..., -1] = np.cumsum(values[..., -1] + 0.5, axis=2)  # seconds since the start
    values[4, 1, 1:] = np.nan
    space = {
        "lr": spaces.loguniform(1e-5, 1.0), "layers": spaces.finrange(1, 4, 4, cast_int=True),
        "act": spaces.choice(["relu", "tanh"]),
    }  # fmt: skip
    return BlackboxTabular(
        hyperparameters=frame, configuration_space=space, fidelity_space={"epochs": spaces.randint(1, 3)},
        objectives_evaluations=values, objectives_names=[*objectives, "metric_elapsed_time"],
    )  # fmt: skip


def row_of(table: Any, config: dict[str, Any]) -> int:
    (row,) = [
        i
        for i in range(len(table))
        if all(np.isclose(table.config(i)[k], v) if k == "lr" else table.config(i)[k] == v for k, v in config.items())
    ]
    return row


def test_tabular_blackbox_answers_as_ever(spaces: Any) -> None:
    blackbox = tabular(spaces)
    table = from_blackbox(blackbox, "bb", goal="min", bounds={"metric_valid_error": (0.0, 1.0)}, licence="CC0")
    assert (len(table), table.values.shape[1:], table.levels.tolist()) == (6, (2, 3, 2), [1.0, 2.0, 3.0])
    assert [(m.name, m.goal) for m in table.metrics] == [("metric_valid_error", "min"), ("metric_train_loss", "min")]
    assert [(h.name, h.kind, h.log) for h in table.space] == [
        ("lr", "float", True),
        ("layers", "int", False),
        ("act", "categorical", False),
    ]
    assert (table.cost_unit, table.level_unit, table.provenance.kind) == ("seconds", "epochs", "measured")
    assert table.provenance.licence == "CC0"
    for config in blackbox.all_configurations():
        row = row_of(table, config)
        for seed in range(2):
            for level in range(3):
                said = blackbox(config, fidelity={"epochs": level + 1}, seed=seed)
                np.testing.assert_array_equal(table.values[row, seed, level], [said[m.name] for m in table.metrics])
                np.testing.assert_array_equal(table.cost[row, seed, level], said["metric_elapsed_time"])


def test_it_is_environment_with_checkpoints_or_two_objectives(spaces: Any) -> None:
    table = from_blackbox(tabular(spaces), "bb2", goal="min")
    curves = run("hyperband", "TableLC-v0", [0], budget=20, env_kwargs={"table": table})[0]
    assert len(curves) > 3
    pair = ("metric_valid_error", "metric_train_loss")
    env = gym.make("TableLC-v0", table=table, objective=pair)
    env.reset(seed=0)
    _, reward, _, _, info = env.step(np.array([0, 0]))
    assert reward.shape == (2,)  # type: ignore[attr-defined]
    assert set(info["metrics"]) == {*pair}


def test_surrogate_is_asked_for_configurations_of_its_space(spaces: Any) -> None:
    from sklearn.neighbors import KNeighborsRegressor
    from syne_tune.blackbox_repository import add_surrogate

    surrogate = add_surrogate(to_blackbox(store.load("nmtlc/ft-zhen")), KNeighborsRegressor(1))
    table = from_blackbox(surrogate, "knn", score="bleu", goal="max", configurations=30)
    assert table.provenance.kind == "surrogate"
    assert len(table) == 30
    for row in (0, 17):
        for level in (0, table.values.shape[2] - 1):
            said = surrogate(table.config(row), seed=0)[level]
            assert table.values[row, 0, level, 0] == pytest.approx(said[surrogate.objectives_names.index("bleu")])


def test_function_with_two_objectives_and_no_times(spaces: Any) -> None:
    from syne_tune.blackbox_repository.blackbox import from_function

    def evaluate(configuration: Any, fidelity: Any = None, seed: Any = None) -> dict[str, float]:
        return {"loss": configuration["x"] ** 2 / fidelity["epoch"], "size": configuration["x"]}

    function = from_function(
        {"x": spaces.uniform(0, 2), "fixed": 7}, evaluate, {"epoch": spaces.randint(1, 2)}, ["loss", "size"]
    )
    table = from_blackbox(function, "function", goal="min", configurations=12)
    assert (table.values.shape, table.cost_unit, [h.name for h in table.space]) == ((12, 1, 2, 2), "evaluations", ["x"])
    x = table.configs[:, 0]
    np.testing.assert_allclose(table.values[:, 0], np.stack([np.stack([x**2, x], 1), np.stack([x**2 / 2, x], 1)], 1))


def test_there_and_back(spaces: Any) -> None:
    ours = store.load("nmthpo/zhen-grid")
    back = from_blackbox(
        to_blackbox(ours), "back", goal=[m.goal for m in ours.metrics], score=[m.name for m in ours.metrics]
    )
    assert len(back) == len(ours)
    for row in range(0, len(ours), 7):
        config = ours.config(row)
        (same,) = [i for i in range(len(back)) if all(back.config(i).get(k, v) == v for k, v in config.items())]
        assert back.values[same, 0, 0].tolist() == ours.values[row, 0, 0].tolist()
        assert back.cost[same, 0, 0] == ours.cost[row, 0, 0]


def test_what_it_cannot_know_must_be_said(spaces: Any) -> None:
    with pytest.raises(ValueError, match="goal of y must be given, 'max' or 'min': its name does not say"):
        from_blackbox(tabular(spaces, ("y", "z")), "bb")
    with pytest.raises(ValueError, match="score and cost must be of .*, got 'x'"):
        from_blackbox(tabular(spaces), "bb", score="x")
