"""A user's CSV file or Optuna study as an environment: guesses, refused input, and use by the rest of the suite."""

import json
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hpo_envs.agents import AGENTS, fits
from hpo_envs.benchmarks import Comparison, problem_of, run
from hpo_envs.benchmarks.comparison import targets
from hpo_envs.commands.main import main
from hpo_envs.families import registry
from hpo_envs.tables import store, user
from hpo_envs.tables.frames import natural
from hpo_envs.tables.table import Table
from tests.helpers import raises, rejects, started
from tests.tables.user.helpers import SWEEP, write


def test_kinds_ranges_and_conditions_are_guessed(table: Table) -> None:
    assert table.keys != tuple("abcdefgh"), "rows are in the order of a hash"
    table = natural(table)
    space = {h.name: h for h in table.space}
    assert (list(space), space["lr"].kind) == (["lr", "layers", "optimiser", "momentum", "amp"], "float")
    assert space["lr"].log
    assert (space["layers"].kind, space["layers"].values, space["layers"].log) == ("int", (1, 2, 4), True)
    assert space["optimiser"].values == ("adam", "sgd")
    assert (space["momentum"].condition, space["amp"].values) == (("optimiser", ("sgd",)), (False, True))
    assert (table.keys, table.metrics[0].low, table.metrics[0].high) == (tuple("abcdefgh"), 0.0, 1.0)
    assert table.config(0) == {"lr": 1e-5, "layers": 1, "optimiser": "sgd", "momentum": 0.9, "amp": True}
    assert (table.config(1)["momentum"], table.cost_unit) == (0.0, "seconds")
    assert table.cost[:, 0, 0].tolist() == [10, 20, 31, 5, 22, 12, 33, 21]
    said = "\n".join(table.provenance.notes)
    assert "momentum: active only while optimiser is sgd" in said
    assert "lr: float, 1e-05 to 0.1, logarithmic (log-uniform is the likeliest)" in said
    assert "id: names the runs" in said
    assert "accuracy: score, max, 0.69 to 0.84; bounds 0 to 1 guessed" in said


def test_failed_and_diverged_runs_get_worst_score(table: Table) -> None:
    env = started(gym.make("TableHPO-v0", table=natural(table), cost="seconds", budget=None))
    assert env.step(3)[1:2] == (0.0,)
    _, reward, _, _, info = env.step(7)
    assert (reward, info["status"], info["cost"]) == (0.0, "diverged", 21.0)
    _, reward, _, _, info = env.step(4)
    assert (reward, info["status"], info["cost"], info["metrics"]) == (0.84, "ok", 22.0, {"accuracy": 0.84})


def test_scores_that_overflow_in_statistics_are_those_of_diverged_runs(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("lr,acc\n0.1,0.5\n0.2,-1e35\n0.3,0.7\n", encoding="utf-8")
    for table in (user.from_csv(path, "acc"), user.from_frame(pd.read_csv(path), "acc")):
        assert natural(table).status.ravel().tolist() == [0, 2, 0]
        assert (table.metrics[0].low, table.metrics[0].high) == (0.0, 1.0)


def test_every_agent_for_rows_works_on_it(table: Table) -> None:
    problem = problem_of(gym.make("TableHPO-v0", table=table))
    names = [n for n, e in AGENTS.items() if e.entrant and e.extra is None and fits(n, problem)]
    assert {"random", "bo", "regularized-evolution", "smac-like"} <= set(names)
    for name in names:
        (one,) = run(name, "TableHPO-v0", [3], budget=4, env_kwargs={"table": table})
        assert (len(one), one.header["table"]) == (4, "user/sweep")
        scored = targets.score(one)
        assert scored["fb"] == pytest.approx(0.84 - one.rewards.max())


def test_command_line_from_file_to_report(tmp_path: Path, capsys: pytest.CaptureFixture[str], cli: Any) -> None:
    path = write(tmp_path, SWEEP)
    said = cli(["table", "from-csv", str(path), "--score", "accuracy", "--cost", "seconds", "--name", "mine"])
    assert "momentum: active only while optimiser is sgd" in said
    assert "hpo-envs compare --env TableHPO-mine-v0" in said
    user._remembered.clear()  # another process would not have it in memory
    out = str(tmp_path / "runs")
    assert main(["compare", "--env", "TableHPO-mine-v0", "--agents", "random,bo-ei-rbf", "--seeds", "2",
                 "--budget", "4", "--out", out]) == 0  # fmt: skip
    assert "measured table user/mine" in capsys.readouterr().out
    assert main(["report", out]) == 0
    found = Comparison.load(Path(out)).summary()
    assert (found["environments"][0]["family"], found["environments"][0]["optimum"]) == ("TableHPO", "table")
    capsys.readouterr()
    assert json.loads(cli(["importance", "TableHPO-mine-v0", "--sensitivity", "--json"]))["runs"] == 6
    # Another table under the same name is refused, the same one is not.
    again = ["table", "from-csv", str(path), "--name", "mine", "--cost", "seconds", "--score"]
    assert main([*again, "accuracy"]) == 0
    assert "--replace" in cli([*again, "layers", "--goal", "max", "--drop", "accuracy"], 2)
    assert main([*again, "layers", "--goal", "max", "--drop", "accuracy", "--replace"]) == 0


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("lr,acc\n.1,.5\n.2,x\n.3,.4\n", "line 3, column acc: must be a number, or empty for a failed run, got 'x'"),
        (
            "lr,acc\n.1,.5\n.2,.6\n.3,.4\n.4,.4\n1e-,.3\n.5,.5\n",
            r"line 6, column lr: must be a number like 5 others \(or --categorical lr\), got '1e-'",
        ),
        ("lr;acc\n0,1;.5\n.2;.6\n.3;.4\n.4;.4\n.5;.3\n.6;.5\n", r"decimals take a point\), got '0,1'"),
        ("lr,acc\n.1,.5\n.2\n", "line 3: must have 2 cells like the header, got 1"),
        ("lr,acc\n", "must have a header and at least one line below it, got a header alone"),
        ("lr,acc\n.1,.5\n,.6\n.2,.5\n", "line 3, column lr: must have a value: no choice in another column"),
        ("lr,acc\n.1,.5\n.1,.6\n", "hyperparameters must be at least one that varies, got none"),
        ("lr,acc\n.1,\n.2,\n", "column acc: must have at least one score, got none"),
        ('lr,acc\n"1,.5\n', "line 2: must be CSV"),
        ("lr,acc\n.1,1.5e308\n.2,2e30\n", "column acc: must have at least one score, got none"),
        ("acc" + ",c" * 10_000 + "\n.1\n", "must have at most 10000 columns, got 10001"),
    ],
)
def test_what_is_wrong_is_named_by_line_and_column(tmp_path: Path, text: str, message: str) -> None:
    rejects(message, user.from_csv, write(tmp_path, text), "acc", "max")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"score": "accuracyy"}, "column must be one of .*, got 'accuracyy', did you mean 'accuracy'"),
        ({"score": "layers"}, "goal of layers must be max or min, got none"),
        ({"score": ["accuracy", "seconds"], "goal": "max"}, r"goal must have one entry per score \(2\), got 1"),
        ({"score": "accuracy", "cost": "accuracy"}, "must be different columns, got accuracy, accuracy"),
        ({"score": "accuracy", "cost": "optimiser"}, "line 2, column optimiser: must be a number >= 0, got 'sgd'"),
        ({"score": "accuracy", "bounds": {"accuracy": (0.0, 0.5)}}, "bounds of accuracy must contain its values"),
        ({"score": "accuracy", "bounds": {"accuracy": (-1e308, 1e308)}}, "bounds of accuracy must be two finite"),
        ({"max_bytes": -5}, "max_bytes must be at least 1, got -5"),
        ({"score": "accuracy", "bounds": {"accuracy": 1}}, "bounds of accuracy must be two finite numbers, .*, got 1"),
        ({"score": "accuracy", "fill": {"lr": 1}, "log": {"lr": [1]}}, "log of lr must be true, false or decay, got"),
        ({"score": "accuracy", "name": "a b"}, "name must be at most 80 letters"),
        ({"score": "accuracy", "name": "Con.v2"}, "a device of Windows"),
        ({"score": "accuracy", "name": "x-v0"}, "not end in -v and a number, got 'x-v0'"),
        ({"score": "accuracy", "level": "layers"}, "line 3: the run must have every layers before it, got none at 1"),
    ],
)
def test_invalid_arguments_are_rejected(tmp_path: Path, arguments: dict[str, Any], message: str) -> None:
    rejects(message, user.from_csv, write(tmp_path, SWEEP), **arguments)


@pytest.mark.parametrize("value", [5, None, b"x", ["a.csv"]])
def test_sources_of_other_types_are_named(value: Any) -> None:
    rejects("source must be a path, got an empty text", user.from_csv, "")
    for build, rule in ((user.from_csv, "path must be that of"), (user.from_study, "study must be an optuna.Study")):
        rejects(rule, build, value)


def test_data_frame_is_as_good(table: Table, tmp_path: Path) -> None:
    import pandas as pd

    frame = pd.read_csv(tmp_path / "sweep.csv")
    same_one = user.from_frame(frame, "accuracy", "max", cost="seconds", name="sweep")
    assert np.array_equal(same_one.configs, table.configs)
    assert same_one.space == table.space
    # A number that is missing is a failed run: a frame cannot tell it from one that diverged.
    assert np.array_equal(same_one.values, table.values, equal_nan=True)
    with pytest.raises(ValueError, match="DataFrame: line 3, column lr: must be a number"):
        user.from_frame(frame.astype(object).replace({"lr": {0.001: "fast"}}), "accuracy", "max")
    for wrong in ([1, 2], 3, {"lr": [1.0]}):
        with raises(f"frame must be a pandas DataFrame or an Arrow table, got {wrong}"):
            user.from_frame(wrong)
        with raises(f"source must be a path, a DataFrame, an Arrow table or an Optuna study, got {wrong}"):
            user.read(wrong)


def test_errors_of_ids_and_names(table: Table) -> None:
    assert registry.find("TableHPO-nothing-v0") is None
    rejects("env_id must be a registered id", run, "random", "TableHPO-nothing-v0", [0])
    rejects("table must be a Table, the path of an .npz file or the name", gym.make, "TableHPO-v0", table=3)
    assert gym.make("TableHPO-v0").unwrapped.table.name == "user/example"
    other = {"name": "sweep", "table": store.load("user/example")}
    rejects("for the id of the table 'sweep', got user/example", gym.make, "TableHPO-v0", **other)
    assert gym.make("TableHPO-v0", name="sweep", table=table).unwrapped.table.name == "user/sweep"
    rejects("got 'swep', did you mean 'sweep'", gym.make, "TableHPO-v0", table="swep")


@settings(max_examples=150, deadline=None)
@given(st.text(alphabet=st.sampled_from(',;\t\n\r" .-+0123456789eaxnifNy\x00é'), max_size=80))
def test_any_text_is_table_or_clear_error(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    path = tmp_path_factory.mktemp("fuzz") / "f.csv"
    path.write_bytes(("a,x\n" + text).encode())
    try:
        made = user.from_csv(path, "x", "max")
    except ValueError as error:
        complaint = str(error)
    else:
        complaint = str(path)
        env = started(gym.make("TableHPO-v0", table=made).unwrapped)
        assert np.isfinite(env.step(len(made) - 1)[1])
    assert str(path) in complaint


def test_optuna_study_is_table(tmp_path: Path, capsys: pytest.CaptureFixture[str], cli: Any) -> None:
    optuna = pytest.importorskip("optuna", reason="extra optuna is not installed")
    optuna.logging.set_verbosity(optuna.logging.WARNING)

    def objective(trial: Any) -> float:
        lr = trial.suggest_float("lr", 1e-5, 1e-1, log=True)
        layers = trial.suggest_int("layers", 2, 8, step=2)
        kind = trial.suggest_categorical("optimiser", ["adam", "sgd", None])
        extra = trial.suggest_float("momentum", 0.0, 0.9) if kind == "sgd" else 0.0
        if trial.number == 4:
            raise optuna.TrialPruned
        if trial.number == 5:
            trial.report(7.0, 1)
            raise optuna.TrialPruned
        return float(-np.log10(lr) + layers + extra)

    storage = f"sqlite:///{tmp_path}/o.db"
    sampler = optuna.samplers.RandomSampler(seed=1)
    study = optuna.create_study(study_name="my study", storage=storage, sampler=sampler)
    study.optimize(objective, 20)
    study.ask()  # a running trial is left out
    t = user.from_study(study)
    assert (t.name, len(t)) == ("user/my-study", 20)
    space = {h.name: h for h in t.space}
    assert (space["lr"].low, space["lr"].high, space["lr"].log) == (1e-5, 1e-1, True)
    assert (space["layers"].values, space["optimiser"].values) == ((2, 4, 6, 8), ("adam", "sgd", "None"))
    assert space["momentum"].condition == ("optimiser", ("sgd",))
    assert (t.metrics[0].name, t.metrics[0].goal) == ("value", "min")
    for trial in study.trials[:20]:
        row = t.row(f"trial-{trial.number}")
        if trial.state.name == "COMPLETE":
            assert (t.values[row, 0, 0, 0], t.config(row)["lr"]) == (trial.value, trial.params["lr"])
            assert t.config(row)["layers"] == trial.params["layers"]
    pruned = [t.row("trial-4"), t.row("trial-5")]
    assert (t.status[pruned, 0].tolist(), t.values[pruned[1], 0, 0, 0]) == ([1, 3], 7.0)
    (one,) = run("bo-ei-rbf", "TableHPO-v0", [0], budget=5, env_kwargs={"table": t})
    assert one.header["scale"]["best"][0] == -study.best_value
    assert main(["table", "from-optuna", "my study", "--storage", storage]) == 0
    assert "optimiser: as defined, choice of 3: adam, sgd, None" in capsys.readouterr().out
    assert store.load("user/my-study").provenance.sha256 == t.provenance.sha256
    given = ["table", "from-optuna", "my study", "--storage", storage, "--name", "more"]
    assert main([*given, "--cost", "evaluations", "--drop", "layers", "--licence", "MIT", "--goal", "max"]) == 0
    more = store.load("user/more")
    assert ([h.name for h in more.space], more.cost_unit) == (["lr", "optimiser", "momentum"], "evaluations")
    assert (more.metrics[0].goal, more.provenance.licence) == ("max", "MIT")
    assert "--max-bytes is for from-csv" in cli([*given, "--max-bytes", "9"], 2)
    assert "study must be one of my study in" in cli(["table", "from-optuna", "another", "--storage", storage], 2)
    kinds = optuna.distributions.CategoricalDistribution(["a", "b"]), optuna.distributions.FloatDistribution(0, 1)
    mixed = optuna.create_study()
    for kind, value in zip(kinds, ("a", 0.5), strict=True):
        mixed.add_trial(optuna.create_trial(params={"c": value}, distributions={"c": kind}, value=1.0))
    rejects("parameter c must be choices or numbers in all trials, got Float.* in trial 1", user.from_study, mixed)
    two = optuna.create_study(directions=["maximize", "minimize"], study_name="two")
    two.optimize(lambda trial: (trial.suggest_float("x", 0, 1), trial.params["x"] ** 2), 5)
    t = user.from_study(two)
    assert [(m.name, m.goal) for m in t.metrics] == [("value_0", "max"), ("value_1", "min")]
    env = gym.make("TableHPO-v0", table=t, objective=("value_0", "value_1"), disable_env_checker=True)
    env.reset()
    assert env.step(t.row("trial-0"))[1].tolist() == [two.trials[0].values[0], -two.trials[0].values[1]]
