"""The frame of `run`, compared with the runs and the table, and its short text."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

from hpo_envs.benchmarks import Runs, plots, run
from hpo_envs.benchmarks.analysis import regret
from hpo_envs.tables import store, user
from tests.helpers import rejects


def test_a_frame_has_a_row_for_each_evaluation() -> None:
    runs = run("random", "NMTHPO-zhen-v0", range(3), budget=7)
    frame, table = runs.to_frame(), store.load("nmthpo/zhen")
    names = [h.name for h in table.space]
    assert [*frame] == ["env", "agent", "seed", "step", *names, "reward", "incumbent", "cost", "regret"]
    assert frame.attrs == {"configuration": names, "objectives": ["bleu"], "cost_unit": "evaluations"}
    for i, one in enumerate(runs):
        part = frame[frame["seed"] == i]
        assert part["step"].tolist() == [*range(1, 8)]
        np.testing.assert_array_equal(part["reward"], one.rewards)
        np.testing.assert_array_equal(part["incumbent"], np.maximum.accumulate(one.rewards))
        np.testing.assert_array_equal(part["regret"], regret.after(one))
        assert part[names].to_dict("records") == [table.config(row) for row in one.evaluated["row"]]
    best = runs.best()
    assert best["reward"] == max(r.rewards.max() for r in runs)


@pytest.mark.parametrize(
    ("env_id", "columns"),
    [
        ("CharHPO-v0", {"batch_size", "learning_rate"}), ("CushLEPOR-ted-ende-v0", {"alpha", "beta"}),
        ("NMTHPO-v0", {"bpe", "layers"}), ("NMTLC-zhen-v0", {"layers", "level"}), ("FIESTA-ner-v0", {"key"}),
        ("NASBenchNLP-cell-v0", {"action"}), ("NMTHPO-zhen-mo-v0", {"reward_bleu", "reward_decoding_seconds"}),
    ],
)  # fmt: skip
def test_every_kind_of_action_has_its_columns(env_id: str, columns: set[str]) -> None:
    runs = run("random", env_id, [0, 1], budget=3 if env_id != "NMTLC-zhen-v0" else None)
    frame = runs.to_frame()
    assert len(frame) == sum(map(len, runs))
    assert columns <= {*frame}
    assert ("incumbent" in frame) == (runs[0].rewards.ndim == 1)


def test_function_of_users_has_its_configurations() -> None:
    seen: list[Any] = []

    def train(config: dict[str, Any]) -> float:
        seen.append(dict(config))
        return float(config["x"])

    space = {"x": (0.0, 1.0), "kind": ["a", "b"], "depth": {"low": 1, "high": 3, "if": {"kind": ["a"]}}}
    runs = run("random", "FunctionHPO-v0", [0, 1], env_kwargs={"function": train, "space": space, "budget": 5})
    frame = runs.to_frame()
    told = [{k: v for k, v in row.items() if v == v} for row in frame[["x", "kind", "depth"]].to_dict("records")]
    assert told == seen
    assert frame["regret"].isna().all()


def test_hyperparameters_named_like_columns_stay_hyperparameters() -> None:
    names = ["reward_scale", "level", "key", "cost"]
    grid = [(float(a), b, c, d) for a in range(1, 5) for b in (1, 2) for c in (3, 4) for d in (5, 6)]
    frame = pd.DataFrame(grid, columns=names).assign(score=lambda f: -f["reward_scale"] + f["level"] / 10)
    table = user.from_frame(frame, "score", "max", hyperparameters=names)
    runs = run("random", "TableHPO-v0", [0], budget=30, env_kwargs={"table": table})
    assert runs.to_frame().attrs["configuration"] == ["reward_scale", "config.level", "config.key", "config.cost"]
    assert runs.best()["reward"] == runs[0].rewards.max()


def test_runs_are_list_that_stays_one() -> None:
    runs = run("random", "NMTHPO-zhen-v0", range(3), budget=2)
    both = runs[:2] + run("bo", "NMTHPO-zhen-v0", [0], budget=2)
    assert isinstance(both, Runs)
    assert repr(both) == "<Runs: 2 of random on NMTHPO-zhen-v0, 1 of bo on NMTHPO-zhen-v0>"
    assert repr(both[0]) == "<Run of random on NMTHPO-zhen-v0, seed 0: 2 evaluations>"
    assert "random" in both._repr_html_()
    assert "bleu" in both[0]._repr_html_()
    assert (repr(Runs()), len(Runs().to_frame())) == ("<Runs: none>", 0)
    other = run("random", "NMTHPO-ruen-v0", [0], budget=2)
    with pytest.raises(ValueError, match="runs must be on one environment to have a best run, got NMTHPO-ruen-v0 by"):
        (both + other).best()
    with pytest.raises(ValueError, match="on one environment .*, got NMTHPO-zhen-v0 by bleu; NMTHPO-zhen-v0 by perp"):
        (both + run("random", "NMTHPO-zhen-v0", [0], budget=2, env_kwargs={"objective": "perplexity"})).best()


def test_runs_of_one_name_and_seed_are_told_apart_by_their_arguments() -> None:
    pytest.importorskip("matplotlib.pyplot").switch_backend("agg")
    given: dict[str, Any] = {"env_id": "NMTHPO-zhen-v0", "seeds": range(5), "budget": 6}
    low, high = (run("bo-ucb", beta=beta, **given) for beta in (0.01, 100.0))
    both = low + high
    assert {*both.to_frame()["agent"]} == {"bo-ucb (beta=0.01)", "bo-ucb (beta=100.0)"}
    assert {*low.to_frame()["agent"]} == {"bo-ucb"}
    ends = [axes.lines[k].get_ydata()[-1] for axes in [both.plot()] for k in (0, 1)]
    assert ends == [runs.plot().lines[0].get_ydata()[-1] for runs in (low, high)]
    for draw in (Runs.plot, lambda runs: plots.ecdf(runs.to_frame())):
        rejects(
            "frame must have each run once, .*, got env NMTHPO-zhen-v0, agent bo-ucb .*, seed 0, step 1 t",
            draw,
            both + low,
        )


def test_runs_of_one_and_of_two_objectives_are_drawn() -> None:
    pyplot = pytest.importorskip("matplotlib.pyplot")
    pyplot.switch_backend("agg")
    for env_id, label in (("NMTHPO-zhen-v0", "evaluations"), ("NMTHPO-zhen-mo-v0", "bleu (reward)")):
        axes = run("random", env_id, [0, 1], budget=9).plot()
        assert axes.get_xlabel() == label
    pyplot.close("all")


def test_progress_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    run("random", "NMTHPO-zhen-v0", [0, 1], budget=5, progress=True)
    assert "10/10" in capsys.readouterr().err
    run("random", "NMTHPO-zhen-v0", [0, 1], budget=5)
    assert capsys.readouterr().err == ""
    for env_id, kwargs in (("CellMini-v0", {}), ("NASBenchNLP-cell-v0", {}), ("FIESTA-tdsa8-v0", {"batch_size": 3})):
        counts: list[int] = []  # a cell takes several steps; a step makes a batch of evaluations
        runs = run("random", env_id, [0, 1], budget=6, env_kwargs=kwargs, progress=counts.append)
        assert sum(counts) == sum(map(len, runs)) == 12
    rejects("progress must be True, False or a function, got 5", run, "random", "NMTHPO-zhen-v0", [0], progress=5)
