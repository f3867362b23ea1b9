"""Figures 5, 10 and 12 by hand-made runs; the released environment on the measured logs; the NMTLC study."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from hpo_envs.benchmarks.papers.common import Reproduction
from hpo_envs.benchmarks.papers.nasbenchnlp import analysis, reproduce, search, settings
from hpo_envs.benchmarks.papers.nasbenchnlp.released import ReleasedEnvironment, first_runs
from hpo_envs.benchmarks.papers.nmtlc import analysis as nmtlc_analysis
from hpo_envs.benchmarks.papers.nmtlc import reproduce as nmtlc
from hpo_envs.engines.curves.params import CurveParams
from hpo_envs.engines.curves.scalar import CurvesEnv
from hpo_envs.tables import store
from hpo_envs.tables.table import Metric
from tests.hpo_envs.engines.curves.helpers import KWARGS, T1


def curves_env(*args: Any, **kwargs: Any) -> CurvesEnv:
    return CurvesEnv(CurveParams.of(*args, **kwargs))


def run_of(actions: list[list[int]], workers: int = 1) -> Any:
    class Run(SimpleNamespace):
        def __len__(self) -> int:
            return len(self.actions)

    return Run(seed=0, actions=np.array(actions), header={"env_kwargs": {"workers": workers}})


def test_trace_is_the_test_loss_of_the_best_by_validation() -> None:
    env = curves_env("x", table=T1, budget=None, **KWARGS)
    found = analysis.trace(run_of([[0, 4], [0, 9], [5, 2]]), env)
    hours = np.cumsum([T1.cost[0, 0, 4], T1.cost[0, 0, 9] - T1.cost[0, 0, 4], T1.cost[5, 0, 2]]) / 3600
    assert np.allclose(found.hours, hours)
    for k, seen in enumerate([[(0, 4)], [(0, 9)], [(0, 9), (5, 2)]]):
        _, loss = min((T1.values[r, 0, e, 0], T1.values[r, 0, e, 1]) for r, last in seen for e in range(last + 1))
        assert found.loss[k] == loss
    losses = np.where(np.isnan(T1.values[:, 0, :, 1]), np.inf, T1.values[:, 0, :, 1])
    assert losses[analysis.best_row(T1)].min() == losses.min()
    assert analysis.lowest(T1) == np.nanmin(T1.values[..., 1])
    half = analysis.trace(run_of([[0, 4]], workers=2), env)
    assert half.hours[0] == pytest.approx(hours[0] / 2)


def test_grid_band_and_summary() -> None:
    a = analysis.Trace(np.array([1.0, 3.0]), np.array([5.0, 4.0]), True)
    b = analysis.Trace(np.array([2.0]), np.array([4.5]), False)
    grid = analysis.on_grid([a, b], np.array([0.5, 1.0, 2.5, 9.0]))
    assert np.array_equal(grid, [[np.nan, 5, 5, 4], [np.nan, np.nan, 4.5, 4.5]], equal_nan=True)
    mean, low, high = analysis.band(np.array([[1.0], [3.0]]))
    assert mean[0] == 2.0
    assert high[0] - low[0] == pytest.approx(2 * 1.96 * np.sqrt(2) / np.sqrt(2))
    row = analysis.summary("m", [a, b], 4.0, (1, 3, 50))
    assert row["final regret"] == "0.2500"
    assert row["best cell found"] == "0.50"
    assert row["at 1 h"] == ""  # one run has no result yet
    assert row["at 3 h"] == "0.2500"
    assert row["at 50 h"] == ""  # nobody ran so long


def named(t: Any) -> Any:
    metrics = (Metric("validation_loss", "nat", "min", 0, 20), Metric("test_loss", "nat", "min", 0, 20), t.metrics[2])
    return dataclasses.replace(t, metrics=metrics, provenance=dataclasses.replace(t.provenance, sha256=""))


def test_rank_correlations_by_hand() -> None:
    t = named(T1)
    rows = analysis.epoch_correlations(t, (1, 10))
    assert [r["cells"] for r in rows] == [3, 3], "rows 1, 2 and 3 did not reach the last epoch"
    whole = [0, 4, 5]
    for r, epoch in zip(rows, (0, 9), strict=True):
        a, b = (np.argsort(np.argsort(v)) for v in (t.values[whole, 0, epoch, 0], t.values[whole, 0, 9, 1]))
        assert float(r["rho"]) == pytest.approx(1 - 6 * ((a - b) ** 2).sum() / 24, abs=1e-3)


@pytest.mark.measured
def test_golden_released_variant_on_the_measured_logs() -> None:
    """The variant charges and answers what the released environment does, on 400 random trainings of real logs."""
    from hpo_envs.tables.datasets.nasbenchnlp.logs import read_archive
    from hpo_envs.tables.datasets.nasbenchnlp.names import LOGS

    records = first_runs(read_archive(store.read(LOGS), LOGS))
    assert len(records) == 291
    t = store.load("nasbenchnlp/wikitext2", "measured")
    first = {"values": t.values[:, :1], "cost": t.cost[:, :1], "status": t.status[:, :1]}
    t = dataclasses.replace(t, **first, provenance=dataclasses.replace(t.provenance, sha256=""))
    released = ReleasedEnvironment(records)
    env = gym.make("NASBenchNLP-wikitext2-v0", table=t, budget=None, variant="released").unwrapped
    env.reset(seed=0)
    rng = np.random.default_rng(0)
    cut = [r for r, record in enumerate(records) if record["status"] != "OK"]
    # The fourth run that diverged, after 23 epochs, is the second one of its recipe.
    assert sorted(len(records[r]["val"]) for r in cut) == [1, 1, 19]
    for k in range(400):
        row = int(rng.choice(cut)) if k % 10 == 0 else int(rng.integers(291))
        epoch = int(rng.integers(50))
        _, reward, _, _, info = env.step([row, epoch])
        recipe = json.loads(records[row]["recipe"])
        released.train(recipe, epoch)
        reached = released.states[row]["epoch"]
        assert info["reached"] == reached
        assert env.total_cost == pytest.approx(released.total_time(), rel=1e-9, abs=1e-6)
        state = released.query(recipe, min(epoch, reached))
        assert (info["status"] == "ok") == (state["status"] == "OK")
        if not np.isnan(state["val_loss"]):
            assert reward == -state["val_loss"]
            assert info["held_out"]["test_loss"] == state["test_loss"]
        if released.best is not None:
            assert env.best == released.best
            assert env.best_held_out["test_loss"] == released.best_test_loss()
    ten, fifty = next(r for r in range(291) if r not in released.states and len(records[r]["val"]) == 50), 50
    released.reset()
    recipe = json.loads(records[ten]["recipe"])
    released.train(recipe, 10)
    assert released.total_time() == pytest.approx(sum(records[ten]["wall"][:10])), "11 epochs seen, 10 paid"
    released.train(recipe, fifty)
    assert released.total_time() == pytest.approx(sum(records[ten]["wall"][:49])), "50 epochs seen, 49 paid"


def test_released_environment_refuses_what_was_not_trained() -> None:
    log = {"recipe": "{}", "val": [3.0, 2.0], "test": [3.0, 2.0], "train": [3.0, 2.0], "wall": [1.0, 1.0]}
    env = ReleasedEnvironment([{**log, "status": "OK"}])
    env.train({}, 0)
    assert env.total_time() == 0.0
    with pytest.raises(ValueError, match="epoch must have been trained, at most 0, got 1"):
        env.query({}, 1)
    with pytest.raises(ValueError, match="recipes must be distinct"):
        ReleasedEnvironment([{**log, "status": "OK"}] * 2)


@pytest.mark.parametrize("preset", list(settings.PRESETS))
def test_presets_name_agents_and_features_that_exist(preset: str) -> None:
    from hpo_envs.agents import entry

    names = [m.name for m in settings.PRESETS[preset]]
    assert len(set(names)) == len(names)
    features = gym.make("NASBenchNLP-wikitext2-v0", table="surrogate").unwrapped.table.feature_names
    for method in settings.PRESETS[preset]:
        assert "levels" in entry(method.agent).supports
        prefix = method.hyperparameters.get("features", "")
        prefix = (prefix,) if isinstance(prefix, str) else prefix
        count = sum(name.startswith(tuple(prefix)) for name in features)
        assert count == {"BO 10D": 10, "BO 50D": 50}.get(method.name, count) > 0


def test_a_small_comparison_runs_and_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    quick = tuple(m for m in settings.SENSIBLE if m.agent in ("random", "asha"))
    monkeypatch.setitem(settings.PRESETS, "sensible", quick)
    monkeypatch.setattr(settings, "BUDGET", 4)
    rows = search.compare(Reproduction(tmp_path, trials=2), "sensible", table="surrogate")
    assert [r["method"] for r in rows] == ["RS 50E", "RS 10E", "ASHA", "ASHA, 4 workers"]
    assert all(float(r["final regret"]) >= 0 for r in rows)
    files = {p.name for p in tmp_path.iterdir()}
    assert {"figure10-wikitext2-sensible.png", "figure12-wikitext2-sensible.svg", "wikitext2-sensible.csv"} <= files
    monkeypatch.setattr(search, "run_method", lambda *a: pytest.fail("runs on disk are not run again"))
    assert search.compare(Reproduction(tmp_path, trials=2), "sensible", table="surrogate") == rows


def test_reproduce_figure5(tmp_path: Path) -> None:
    assert reproduce.main(tmp_path, trials=None, jobs=1, seed=0, only="figure5") == 0
    assert (tmp_path / "figure5-wikitext2.svg").exists()


def test_nmtlc_regret_by_hand() -> None:
    env = gym.make("NMTLC-ft-zhen-v0", table="surrogate", budget=None).unwrapped
    losses = env.table.values[:, 0, :, 0]
    spent, values = nmtlc_analysis.regret(run_of([[3, 1], [4, 0]]), env)
    assert spent.tolist() == [2.0, 3.0]
    assert values[0] == losses[3, :2].min() - np.nanmin(losses)
    assert values[1] == min(losses[3, :2].min(), losses[4, 0]) - np.nanmin(losses)
    at = nmtlc_analysis.at_budgets(run_of([[3, 1], [4, 0]]), env, [1, 2, 9])
    assert at.tolist() == [np.nanmax(losses[:, 0]) - np.nanmin(losses), values[0], values[1]]


def test_early_ranks_by_hand() -> None:
    t = store.load("nmtlc/ft-zhen", "surrogate")
    from scipy.stats import spearmanr

    best = [np.nanmin(v) for v in t.values[:, 0, :, 0]]
    early = [np.nanmin(v[:3]) for v in t.values[:, 0, :, 0]]
    assert nmtlc_analysis.early_ranks(t, (3, 28)) == {"after 3": f"{spearmanr(early, best)[0]:.2f}", "after 28": "1.00"}


def test_reproduce_nmtlc(tmp_path: Path) -> None:
    assert nmtlc.main(tmp_path, trials=2, jobs=1, seed=0, only="ft-zhen") == 0
    lines = (tmp_path / "summary.csv").read_text().splitlines()
    assert len(lines) == 5
    assert lines[0].startswith("table,corpus,agent,trials,regret at 1,")
    assert (tmp_path / "regret.png").exists()


def test_evolution_of_cells_beats_random_cells() -> None:
    """The grammar reaches the agent through `Problem.mutate`; only complete cells are evaluations."""
    from hpo_envs.benchmarks import run

    best = {}
    for agent, hyper in (("regularized-evolution", {"population": 10, "sample": 5}), ("random", {})):
        runs = run(agent, "NASBenchNLP-cell-v0", [0, 1, 2], budget=60, env_kwargs={"table": "surrogate"}, **hyper)
        assert [len(r) for r in runs] == [60, 60, 60]
        best[agent] = np.mean([r.rewards.max() for r in runs])
    assert best["regularized-evolution"] > best["random"]
