"""Tables as blackboxes of Syne Tune, and its blackboxes as environments; skipped without Syne Tune."""

from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pandas as pd
import pytest

from hpo_envs.benchmarks import run
from hpo_envs.integrations.syne_tune import LEVEL, SECONDS, _evaluations, from_blackbox, to_backend, to_blackbox
from hpo_envs.tables import store, user
from hpo_envs.tables.table import LOST
from tests.helpers import rejects


@pytest.fixture
def spaces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setenv("SYNETUNE_FOLDER", str(tmp_path))
    pytest.importorskip("syne_tune.blackbox_repository", reason="Syne Tune is not installed")
    import syne_tune.config_space

    return syne_tune.config_space


def reports(backend: Any, scheduler: Any, trials: int) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """(configuration, report) of all reports of Syne Tune's simulator for some trials on three workers."""
    from syne_tune import StoppingCriterion, Tuner
    from syne_tune.backend.simulator_backend.simulator_callback import SimulatorCallback

    seen = []

    class Listener(SimulatorCallback):
        def on_trial_result(self, trial: Any, status: str, result: dict[str, Any], decision: str) -> None:
            super().on_trial_result(trial, status, result, decision)
            seen.append((trial.config, dict(result)))

    Tuner(
        trial_backend=backend, scheduler=scheduler, stop_criterion=StoppingCriterion(max_num_trials_started=trials),
        n_workers=3, sleep_time=0, callbacks=[Listener()], save_tuner=False, print_update_interval=10**6,
    ).run()  # fmt: skip
    return seen


def row_of(table: Any, config: dict[str, Any]) -> int:
    def same(mine: Any, theirs: Any) -> bool:
        return bool(np.isclose(mine, theirs, atol=0.0)) if isinstance(mine, float) else mine == theirs

    (row,) = [i for i in range(len(table)) if all(same(v, config[k]) for k, v in table.config(i).items())]
    return row


def test_diverged_runs_have_the_worst_values_that_environments_give() -> None:
    table, p = store.load("cellmini/shakespeare"), gym.make("CellMiniLC-v0").unwrapped.params
    rows, repeats = np.indices((len(table), table.values.shape[1]))
    found = _evaluations(table, rows, repeats)[:, :, -1, table.metric(p.objectives[0])].mean(axis=1)
    last = np.column_stack([rows[:, 0], np.full(len(table), len(table.levels) - 1)])
    assert np.isin(table.status, LOST).sum() > 50
    np.testing.assert_allclose(p.rewarded[0].sign * found, np.ravel(p.truth(0, last)))


def test_syne_tune_reports_what_table_says(spaces: Any) -> None:
    """Its ASHA with early stopping, on learning curves: every report equals the table's entry."""
    from syne_tune.optimizer.baselines import ASHA

    table = store.load("nmtlc/ft-zhen")
    top, given = table.values.shape[2], range(0, 150, 5)  # more than are started
    backend = to_backend(table, seed=0, max_resource_attr="most")
    scheduler = ASHA(
        {**backend.blackbox.configuration_space, "most": top}, metric="bleu", do_minimize=False, time_attr=LEVEL,
        max_t=top, random_seed=0, points_to_evaluate=[{**table.config(i), "most": top} for i in given],
    )  # fmt: skip
    seen = reports(backend, scheduler, trials=15)
    rows = {row_of(table, config) for config, _ in seen}
    assert len(rows) >= 12
    assert rows <= set(given)
    assert len(rows) < len(seen) < len(rows) * top  # some were stopped
    for config, result in seen:
        row, level = row_of(table, config), int(result[LEVEL])
        last = min(level, int(np.isfinite(table.cost[row, 0]).sum()))
        for m in table.metrics:
            assert result[m.name] == table.values[row, 0, last - 1, table.metric(m.name)]
        # The simulator lets at least 0.01 pass between two reports.
        assert result[SECONDS] == pytest.approx(table.cost[row, 0, last - 1] + 0.01 * (level - last))


def test_syne_tune_searches_complete_grid(spaces: Any) -> None:
    from syne_tune.optimizer.baselines import RandomSearch

    table = store.load("nmthpo/zhen-grid")
    backend = to_backend(table, seed=0)
    scheduler = RandomSearch(backend.blackbox.configuration_space, ["bleu"], do_minimize=False, random_seed=0)
    seen = reports(backend, scheduler, trials=20)
    assert len(seen) >= 15
    for config, result in seen:
        row = row_of(table, config)
        assert [result[m.name] for m in table.metrics] == table.values[row, 0, 0].tolist()
        assert result[SECONDS] == table.cost[row, 0, 0]


def test_syne_tune_on_tables_that_are_no_grid(spaces: Any) -> None:
    """With the nearest row as surrogate, any combination of values gets the result of some row."""
    from sklearn.neighbors import KNeighborsRegressor
    from syne_tune.blackbox_repository import add_surrogate
    from syne_tune.optimizer.baselines import RandomSearch

    table = store.load("charhpo/g2p-dut-lstm")
    backend = to_backend(table, add_surrogate(to_blackbox(table), KNeighborsRegressor(1)))
    scheduler = RandomSearch(backend.blackbox.configuration_space, ["accuracy"], do_minimize=False, random_seed=0)
    seen = reports(backend, scheduler, trials=12)  # how many end depends on the scheduler's clock
    measured = table.values[:, 0, 0, table.metric("accuracy")]
    assert all(np.isclose(result["accuracy"], measured, rtol=1e-12).any() for _, result in seen)
    # Many configurations of this table never learn, so that their accuracies are equal; their run times never are.
    assert len({result[SECONDS] for _, result in seen}) > 1


def test_repeats_are_seeds_and_gaps_are_filled(spaces: Any) -> None:
    sheet = pd.DataFrame(
        [(1, "x", 0, 1, 0.1, 2.0), (1, "x", 0, 2, 0.4, 3.0), (1, "x", 1, 1, 0.2, 1.0), (2, "y", 0, 1, 0.7, 5.0)],
        columns=["a", "b", "run", "epoch", "y", "s"],
    )
    blackbox = to_blackbox(user.from_frame(sheet, "y", "max", cost="s", level="epoch", repeat="run"))
    said = [
        [[blackbox({"a": a, "b": b}, {LEVEL: e}, seed=s) for e in (1, 2)] for s in (0, 1)]
        for a, b in ((1, "x"), (2, "y"))
    ]
    y = [[[r["y"] for r in levels] for levels in seeds] for seeds in said]
    assert y == [[[0.1, 0.4], [0.2, 0.2]], [[0.7, 0.7], [0.7, 0.7]]]
    assert [[r[SECONDS] for r in levels] for levels in said[0]] == [[2.0, 3.0], [1.0, 1.0]]


@pytest.mark.parametrize("seconds", [(0.0, 0.0), (0.0, 3.0)])
def test_first_fidelities_may_be_free(spaces: Any, seconds: tuple[float, float]) -> None:
    from syne_tune.optimizer.baselines import RandomSearch

    sheet = pd.DataFrame({"a": np.repeat(np.arange(6), 2), "b": np.repeat([1, 2] * 3, 2), "epoch": [1, 2] * 6})
    sheet = sheet.assign(y=np.arange(12) / 10, s=seconds * 6)
    backend = to_backend(user.from_frame(sheet, "y", "max", cost="s", level="epoch"), seed=0)
    space = backend.blackbox.configuration_space
    given = [dict(a=k, b=1 + k % 2) for k in range(6)]
    scheduler = RandomSearch(space, ["y"], do_minimize=False, random_seed=0, points_to_evaluate=given)
    assert {result["y"] for _, result in reports(backend, scheduler, trials=5)} >= {0.0, 0.1, 0.2}


def test_tables_that_are_no_blackbox(spaces: Any) -> None:
    rejects("table must have hyperparameters", to_blackbox, store.load("fiesta/tdsa8"))


@pytest.mark.parametrize("name", ["charhpo/inflection-alb-transformer", "nmthpo/soen", "nmtlc/ruen", "user/example"])
def test_every_kind_of_table_is_blackbox(spaces: Any, name: str) -> None:
    table = store.load(name)
    blackbox = to_blackbox(table)
    alike: dict[tuple[Any, ...], int] = {}
    for row in range(len(table)):
        # Rows with the same hyperparameters (corpora differ in what was written down) are seeds.
        key = tuple(table.config(row).values())
        seed = alike[key] = alike.get(key, -1) + 1
        if row in (0, 1, len(table) // 2, len(table) - 1):
            said = blackbox(table.config(row), fidelity={LEVEL: 1}, seed=seed)
            values = {m.name: table.values[row, 0, 0, j] for j, m in enumerate(table.metrics)}
            values.pop("test_accuracy", None)  # known of one run
            assert said == {**values, "elapsed_time": table.cost[row, 0, 0]}
    assert blackbox.num_seeds == max(alike.values()) + 1
    assert np.isfinite(blackbox.objectives_evaluations).all()


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


def test_hyperparameters_and_metrics_of_any_names_come_back(spaces: Any) -> None:
    grid = [(lr, k, lr * k) for lr in (0.1, 0.2, 0.3) for k in (1, 2)]
    for names in (["seed", "seconds", "acc"], ["lr", "k", "seconds"]):
        table = user.from_frame(pd.DataFrame(grid, columns=names), names[2], "max", hyperparameters=names[:2])
        again = from_blackbox(to_blackbox(table), score=names[2], goal="max")
        found = [{(*t.config(i).values(), t.values[i, 0, 0, 0]) for i in range(len(t))} for t in (table, again)]
        assert found[0] == found[1] == {*grid}
    taken = user.from_frame(pd.DataFrame(grid, columns=["lr", "k", SECONDS]), SECONDS, "min", cost=None)
    rejects("metrics must not be named elapsed_time, as the cost of a blackbox", to_blackbox, taken)


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
    timed = from_blackbox(tabular(spaces, ("error", "seconds")), "timed", cost="seconds")
    assert (timed.cost_unit, [m.name for m in timed.metrics]) == ("seconds", ["error"])
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


def test_there_and_back(spaces: Any) -> None:
    ours = store.load("nmthpo/zhen-grid")
    back = from_blackbox(to_blackbox(ours), "back", goal=[m.goal for m in ours.metrics], score=[*ours.metric_names])
    assert len(back) == len(ours)
    for row in range(0, len(ours), 7):
        config = ours.config(row)
        (same,) = [i for i in range(len(back)) if all(back.config(i).get(k, v) == v for k, v in config.items())]
        assert back.values[same, 0, 0].tolist() == ours.values[row, 0, 0].tolist()
        assert back.cost[same, 0, 0] == ours.cost[row, 0, 0]


def test_what_it_cannot_know_must_be_said(spaces: Any) -> None:
    with pytest.raises(ValueError, match="goal of y must be max or min, got none: its name does not say"):
        from_blackbox(tabular(spaces, ("y", "z")), "bb")
    rejects("score and cost must be of .*, got 'x'", from_blackbox, tabular(spaces), "bb", score="x")
    rejects("blackbox must list its configurations .*, got object", from_blackbox, object())
