"""A user's CSV file or Optuna study as an environment: what is guessed, what is refused, and that all else takes it."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from hypothesis import given, settings
from hypothesis import strategies as st

from hpo_envs import registry
from hpo_envs.agents import AGENTS, fits
from hpo_envs.benchmarks import problem_of, run
from hpo_envs.benchmarks.analysis import compare, summary
from hpo_envs.commands.main import main
from hpo_envs.tables import store, user
from hpo_envs.tables.table import Table
from hpo_envs.tables.user import infer
from hpo_envs.testing.rules import same

SWEEP = """id,lr,layers,optimiser,momentum,amp,accuracy,seconds
a,0.00001,1,sgd,0.9,true,0.71,10
b,0.001,2,adam,,false,0.82,20
c,0.01,4,sgd,0.5,true,0.77,31
d,0.1,4,adam,,false,,5
e,0.003,2,adam,,true,0.84,22
f,0.0002,1,sgd,0.7,false,0.79,12
g,0.02,4,adam,,true,0.69,33
h,0.0005,2,sgd,0.8,false,nan,21
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HPO_ENVS_TABLES", str(tmp_path / "tables"))
    monkeypatch.setattr("hpo_envs.tables.user.saved._remembered", {})
    return tmp_path / "tables"


def write(tmp_path: Path, text: str, name: str = "sweep.csv") -> Path:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return path


@pytest.fixture
def table(tmp_path: Path) -> Table:
    return user.from_csv(write(tmp_path, SWEEP), "accuracy", "max", cost="seconds")


def test_kinds_ranges_and_conditions_are_guessed(table: Table) -> None:
    space = {h.name: h for h in table.space}
    assert list(space) == ["lr", "layers", "optimiser", "momentum", "amp"]
    assert space["lr"].kind == "float"
    assert space["lr"].log
    assert (space["layers"].kind, space["layers"].values, space["layers"].log) == ("int", (1, 2, 4), False)
    assert space["optimiser"].values == ("adam", "sgd")
    assert space["momentum"].condition == ("optimiser", ("sgd",))
    assert space["amp"].values == (False, True)
    assert table.keys == tuple("abcdefgh")
    assert (table.metrics[0].low, table.metrics[0].high) == (0.0, 1.0)
    assert table.config(0) == {"lr": 1e-5, "layers": 1, "optimiser": "sgd", "momentum": 0.9, "amp": True}
    assert table.config(1)["momentum"] == 0.0
    assert table.cost_unit == "seconds"
    assert table.cost[:, 0, 0].tolist() == [10, 20, 31, 5, 22, 12, 33, 21]
    said = "\n".join(table.provenance.notes)
    assert "momentum: active only while optimiser is sgd" in said
    assert "lr: float, 1e-05 to 0.1, logarithmic (spans a factor of 1e+04)" in said
    assert "id: names the runs" in said
    assert "accuracy: score, max, 0.69 to 0.84; bounds 0 to 1 guessed" in said


def test_failed_and_diverged_runs_get_the_worst_score(table: Table) -> None:
    env = gym.make("TableHPO-v0", table=table, cost="seconds", budget=None)
    env.reset(seed=0)
    assert env.step(3)[1:2] == (0.0,)
    _, reward, _, _, info = env.step(7)
    assert (reward, info["status"], info["cost"]) == (0.0, "diverged", 21.0)
    _, reward, _, _, info = env.step(4)
    assert (reward, info["status"], info["cost"], info["metrics"]) == (0.84, "ok", 22.0, {"accuracy": 0.84})


def test_gymnasium_finds_no_fault_and_both_forms_agree(table: Table) -> None:
    check_env(gym.make("TableHPO-v0", table=table).unwrapped, skip_render_check=True)
    user.save(table)
    assert registry.find("TableHPO-sweep-v0")
    envs = gym.make_vec("TableHPO-sweep-v0", num_envs=3)
    singles = [gym.make("TableHPO-sweep-v0") for _ in range(3)]
    batch, _ = envs.reset(seed=5)
    assert same(batch, np.stack([e.reset(seed=5 + i)[0] for i, e in enumerate(singles)]))
    for actions in np.random.default_rng(0).integers(0, 8, (6, 3)):
        observations, rewards, _, _, infos = envs.step(actions)
        for i, e in enumerate(singles):
            o, r, _, _, info = e.step(int(actions[i]))
            assert same(observations[i], o)
            assert rewards[i] == r
            assert infos["status"][i] == info["status"]
    pickle.loads(pickle.dumps(singles[0]))


def test_equal_configurations_are_repeats(tmp_path: Path) -> None:
    text = "lr,seed,acc\n.1,1,.5\n.1,2,.6\n.2,1,.7\n.2,2,\n"
    t = user.from_csv(write(tmp_path, text), "acc", "max", repeat="seed")
    assert t.values.shape == (2, 2, 1, 1)
    # The failure is an outcome like the other run's.
    assert t.values[1, :, 0, 0].tolist() == [0.7, 0.0]
    env = gym.make("TableHPO-v0", table=t, budget=None)
    seen = set()
    for seed in range(20):
        env.reset(seed=seed)
        seen.add(env.step(1)[1])
    assert seen == {0.7, 0.0}
    without = user.from_csv(write(tmp_path, text), "acc", "max", drop=["seed"])
    assert np.array_equal(without.values, t.values)
    assert "2 lines repeat a configuration" in " ".join(without.provenance.notes)


CURVES = "lr,epoch,loss,seconds\n.1,1,2.5,3\n.1,2,2.0,6\n.1,4,1.5,12\n.01,1,2.7,3\n.01,2,2.6,7\n"


def test_checkpoints_become_levels(tmp_path: Path) -> None:
    t = user.from_csv(write(tmp_path, CURVES), "loss", level="epoch", cost="seconds")
    assert t.levels.tolist() == [1, 2, 4]
    assert t.metrics[0].goal == "min"
    env = gym.make("TableLC-v0", table=t, budget=None)
    check_env(env.unwrapped, skip_render_check=True)
    env.reset(seed=0)
    _, reward, _, _, info = env.step(np.array([0, 1]))
    assert (reward, info["cost"]) == (-2.0, 6.0)
    _, reward, _, _, info = env.step(np.array([0, 2]))
    assert (reward, info["cost"]) == (-1.5, 6.0)
    assert run("hyperband", "TableLC-v0", [0], env_kwargs={"table": t})[0].rewards.max() <= -1.5
    # As a table of final scores, the last checkpoint counts.
    env = gym.make("TableHPO-v0", table=t)
    env.reset()
    assert env.step(1)[1] == -2.6


def test_every_agent_for_rows_works_on_it(table: Table) -> None:
    problem = problem_of(gym.make("TableHPO-v0", table=table))
    names = [n for n, e in AGENTS.items() if e.alias_of is None and e.extra is None and fits(n, problem)]
    assert {"random", "bo", "regularized-evolution", "smac-like"} <= set(names)
    for name in names:
        (one,) = run(name, "TableHPO-v0", [3], budget=4, env_kwargs={"table": table})
        assert len(one) == 4
        assert one.header["table"] == "user/sweep"
        scored = compare.score(one)
        assert scored["fb"] == pytest.approx(0.84 - one.rewards.max())


def test_the_command_line_from_file_to_report(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write(tmp_path, SWEEP)
    assert main(["table", "from-csv", str(path), "--score", "accuracy", "--cost", "seconds", "--name", "mine"]) == 0
    said = capsys.readouterr().out
    assert "momentum: active only while optimiser is sgd" in said
    assert "hpo-envs compare --env TableHPO-mine-v0" in said
    user.saved._remembered.clear()  # another process would not have it in memory
    out = str(tmp_path / "runs")
    assert main(["compare", "--env", "TableHPO-mine-v0", "--agents", "random,bo-ei-rbf", "--seeds", "2",
                 "--budget", "4", "--out", out]) == 0  # fmt: skip
    assert "measured table user/mine" in capsys.readouterr().out
    assert main(["report", out]) == 0
    found = summary.load(Path(out))
    assert found["environments"][0]["family"] == "TableHPO"
    assert found["environments"][0]["optimum"] == "table"
    assert main(["sensitivity", "--env", "TableHPO-mine-v0", "--k", "2", "--json"]) == 0
    assert json.loads(capsys.readouterr().out.partition("page:")[2].partition("\n")[2])["runs"] == 6
    for words in (["describe", "TableHPO-mine-v0"], ["table", "list"], ["list", "mine"], ["table", "show", "mine"]):
        assert main(words) == 0
        assert "mine" in capsys.readouterr().out
    # Another table under the same name is refused, the same one is not.
    again = ["table", "from-csv", str(path), "--name", "mine", "--cost", "seconds", "--score"]
    assert main([*again, "accuracy"]) == 0
    assert main([*again, "layers", "--goal", "max", "--drop", "accuracy"]) == 2
    assert "--replace" in capsys.readouterr().err
    assert main([*again, "layers", "--goal", "max", "--drop", "accuracy", "--replace"]) == 0


def test_a_saved_table_is_the_table(table: Table, tmp_path: Path) -> None:
    path = user.save(table, tmp_path / "here.npz")
    user.saved._remembered.clear()
    assert not user.exists("sweep")
    assert gym.make("TableHPO-v0", table=str(path)).unwrapped.table.provenance == table.provenance
    assert user.exists("sweep")  # known by name from now on, so that runs can be scored
    assert store.load("user/sweep").provenance.sha256 == table.provenance.sha256
    path.write_bytes(path.read_bytes()[:-40])
    with pytest.raises(ValueError, match="must be a table written by hpo-envs"):
        user.load(path)


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
        ("lr,lr,acc\n1,2,3\n", "line 1: columns must have names, each once, got 'lr' as column 2"),
        ("lr,acc\n", "must have a header and at least one line, got 1"),
        ("lr,acc\n.1,.5\n,.6\n.2,.5\n", "line 3, column lr: must have a value: no choice among the other columns"),
        ("lr,acc\n.1,.5\n.1,.6\n", "hyperparameters must be at least one that varies, got none"),
        ("lr,acc\n.1,\n.2,\n", "column acc: must have at least one score, got none"),
        ('lr,acc\n"1,.5\n', "line 2: must be CSV"),
        ("lr,note,acc\n" + "".join(f".{i},n{i},.5\n" for i in range(1, 60)), "at most 50 different texts, got 59"),
    ],
)
def test_what_is_wrong_is_named_by_line_and_column(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        user.from_csv(write(tmp_path, text), "acc", "max")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"score": "accuracyy"}, "column must be one of .*, got 'accuracyy', did you mean 'accuracy'"),
        ({"score": "layers"}, "goal of layers must be max or min, got None"),
        ({"score": ["accuracy", "seconds"], "goal": "max"}, r"goal must be one for each score \(2\), got 1"),
        ({"score": "accuracy", "cost": "accuracy"}, "must be different columns, got accuracy, accuracy"),
        (
            {"score": "accuracy", "cost": "optimiser"},
            "line 2, column optimiser: must be a number >= 0, got 'sgd'",
        ),
        ({"score": "accuracy", "bounds": {"accuracy": (0.0, 0.5)}}, "bounds of accuracy must contain its values"),
        ({"score": "accuracy", "name": "a b"}, "name must be letters"),
        ({"score": "accuracy", "name": "x-v0"}, "not ending in -v0, got 'x-v0'"),
        ({"score": "accuracy", "level": "layers"}, "line 3: the run must have every layers before it, 1 is missing"),
    ],
)
def test_wrong_arguments(tmp_path: Path, arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        user.from_csv(write(tmp_path, SWEEP), **arguments)


def test_a_failed_save_leaves_the_old_table(table: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    path = user.save(table)
    before = path.read_bytes()

    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(user.saved.os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        user.save(user.renamed(table.subset([0, 1]), "sweep"), replace=True)
    assert path.read_bytes() == before
    assert [p.name for p in path.parent.iterdir()] == ["sweep.npz"]


def test_replacing_a_table_is_seen_at_once(table: Table) -> None:
    user.save(table)
    assert len(store.load("user/sweep")) == 8
    user.save(table.subset([0, 1, 2]), replace=True)
    assert len(store.load("user/sweep")) == 3


def test_a_data_frame_is_as_good(table: Table, tmp_path: Path) -> None:
    import pandas as pd

    frame = pd.read_csv(tmp_path / "sweep.csv")
    same_one = user.from_frame(frame, "accuracy", "max", cost="seconds", name="sweep")
    assert np.array_equal(same_one.configs, table.configs)
    assert same_one.space == table.space
    # A number that is missing is a failed run: a frame cannot tell it from one that diverged.
    assert np.array_equal(same_one.values, table.values, equal_nan=True)
    with pytest.raises(ValueError, match="DataFrame: line 3, column lr: must be a number"):
        user.from_frame(frame.astype(object).replace({"lr": {0.001: "fast"}}), "accuracy", "max")


def test_costs_that_fall_are_refused(tmp_path: Path) -> None:
    text = CURVES.replace(".1,4,1.5,12", ".1,4,1.5,5")
    with pytest.raises(ValueError, match="line 4, column seconds: must be the cost since the start of the run"):
        user.from_csv(write(tmp_path, text), "loss", level="epoch", cost="seconds")
    with pytest.raises(ValueError, match="line 7: must be another configuration than line 6, .*--repeat"):
        user.from_csv(write(tmp_path, CURVES + ".01,2,2.6,7\n"), "loss", level="epoch", cost="seconds")


def test_errors_of_ids_and_names(table: Table) -> None:
    assert registry.find("TableHPO-nothing-v0") is None
    with pytest.raises(ValueError, match="env_id must be a registered id"):
        run("random", "TableHPO-nothing-v0", [0])
    with pytest.raises(ValueError, match="table must be a Table, the path of an .npz file or the name"):
        gym.make("TableHPO-v0", table=3)
    assert gym.make("TableHPO-v0", table="surrogate").unwrapped.table.name == "user/example"
    with pytest.raises(ValueError, match="got 'swep', did you mean 'sweep'"):
        gym.make("TableHPO-v0", table="swep")
    with pytest.raises(ValueError, match="has no surrogate"):
        gym.make("TableHPO-v0", name="sweep", table="surrogate")


def test_an_unreadable_table_hides_no_other(table: Table, folder: Path) -> None:
    user.save(table)
    (folder / "broken.npz").write_bytes(b"PK\x03\x04 not a table")
    with pytest.warns(UserWarning, match="saved table broken is left out"):
        assert [s.id for s in registry.own()] == ["TableHPO-sweep-v0"]


@settings(max_examples=150, deadline=None)
@given(st.text(alphabet=st.sampled_from(',;\t\n\r" .-+0123456789eaxnifNy\x00é'), max_size=80))
def test_any_text_is_a_table_or_a_clear_error(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    path = tmp_path_factory.mktemp("fuzz") / "f.csv"
    path.write_bytes(("a,x\n" + text).encode())
    try:
        made = user.from_csv(path, "x", "max")
    except ValueError as error:
        complaint = str(error)
    else:
        complaint = str(path)
        env = gym.make("TableHPO-v0", table=made).unwrapped
        env.reset(seed=0)
        assert np.isfinite(env.step(len(made) - 1)[1])
    assert str(path) in complaint


@pytest.mark.parametrize(
    ("text", "value"),
    [("1", 1), (" -2.5e3", -2500.0), ("1_000", None), ("inf", None), ("0x1", None), ("", None), ("1e999", None)],
)
def test_numbers(text: str, value: Any) -> None:
    assert infer.number(text) == value
    assert type(infer.number(text)) is type(value)


def test_an_optuna_study_is_a_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
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
    assert t.name == "user/my-study"
    assert len(t) == 20
    space = {h.name: h for h in t.space}
    assert (space["lr"].low, space["lr"].high, space["lr"].log) == (1e-5, 1e-1, True)
    assert space["layers"].values == (2, 4, 6, 8)
    assert space["optimiser"].values == ("adam", "sgd", "None")
    assert space["momentum"].condition == ("optimiser", ("sgd",))
    assert (t.metrics[0].name, t.metrics[0].goal) == ("value", "min")
    for trial in study.trials[:20]:
        row = t.row(f"trial-{trial.number}")
        if trial.state.name == "COMPLETE":
            assert t.values[row, 0, 0, 0] == trial.value
            assert t.config(row)["lr"] == trial.params["lr"]
            assert t.config(row)["layers"] == trial.params["layers"]
    assert t.status[[4, 5], 0].tolist() == [1, 3]
    assert t.values[5, 0, 0, 0] == 7.0
    (one,) = run("bo-ei-rbf", "TableHPO-v0", [0], budget=5, env_kwargs={"table": t})
    assert compare.reference(one).best[0] == -study.best_value
    assert main(["table", "from-optuna", "my study", "--storage", storage]) == 0
    assert "optimiser: as the study defines it" in capsys.readouterr().out
    assert store.load("user/my-study").provenance.sha256 == t.provenance.sha256
    assert main(["table", "from-optuna", "another", "--storage", storage]) == 2
    assert "study must be one of my study in" in capsys.readouterr().err
    two = optuna.create_study(directions=["maximize", "minimize"], study_name="two")
    two.optimize(lambda trial: (trial.suggest_float("x", 0, 1), trial.params["x"] ** 2), 5)
    t = user.from_study(two)
    assert [(m.name, m.goal) for m in t.metrics] == [("value_0", "max"), ("value_1", "min")]
    env = gym.make("TableHPO-v0", table=t, objective=("value_0", "value_1"), disable_env_checker=True)
    env.reset()
    assert env.step(0)[1].tolist() == [two.trials[0].values[0], -two.trials[0].values[1]]
