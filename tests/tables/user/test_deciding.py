"""Decisions on whole files: number formats, scales, units, functions of other columns; uncertain ones are asked."""

from dataclasses import replace
from typing import Any

import gymnasium as gym
import numpy as np
import pandas as pd
import pytest

from hpo_envs import benchmarks
from hpo_envs.commands.main import main
from hpo_envs.tables import user
from hpo_envs.tables.table import Table
from hpo_envs.tables.user import cells
from hpo_envs.tables.user.deciding import formats, scales
from hpo_envs.tables.user.deciding.names import goal_of
from tests.helpers import rejects
from tests.tables.user.helpers import from_text, write


def definitions(table: Table) -> dict[str, Any]:
    return {h.name: h for h in table.space}


def decided(table: Table, column: str) -> str:
    return "; ".join(n for n in table.provenance.notes if n.startswith(f"{column}: "))


@pytest.mark.parametrize(
    ("columns", "delimiter", "decimal", "wanted", "note"),
    [
        ({"x": ["1,240", "860", "412"]}, ",", None, ["1240", "860", "412"], "thousands"),
        ({"x": ["1,240", "860"], "y": [0.5, 0.25]}, ";", None, ["1240", "860"], "thousands"),
        ({"x": ["1,240", "860"], "y": ["0,5", "0,25"]}, ";", None, ["1.240", "860"], "decimal commas"),
        ({"x": ["1,240", "860"]}, ";", ",", ["1.240", "860"], "decimal commas"),
        ({"x": ["1,240", "860"]}, ";", ".", ["1240", "860"], "thousands"),
        ({"x": ["1.240", "2.500"], "y": ["0,5", "0,25"]}, ";", None, ["1240", "2500"], "thousands"),
        ({"x": ["1,234,567", "12"]}, ";", None, ["1234567", "12"], "thousands"),
        ({"x": ["1,240.5", "860.25"]}, ";", None, ["1240.5", "860.25"], "thousands"),
        ({"x": ["1.240,5", "3,2"]}, ";", None, ["1240.5", "3.2"], "decimal commas"),
        ({"x": ["1'240", "2'500"]}, ";", None, ["1240", "2500"], "thousands"),
        ({"x": ["1,5", "2", None]}, ";", None, ["1.5", "2", None], "decimal commas"),
        ({"x": ["1,5", "2.5"]}, ";", None, ["1,5", "2.5"], ""),
        ({"x": ["'-0.5", "2e-3", "'-1e-05"]}, ",", None, ["-0.5", "2e-3", "-1e-05"], "apostrophes before signs"),
        ({"x": ["71%", "80.5 %"]}, ",", None, ["71", "80.5"], "percent signs"),
        ({"x": ["71%", "80.5"]}, ",", None, ["71%", "80.5"], ""),
        ({"x": ["86.7 ± 0.3", "85±1", "OOM", ""]}, ",", None, ["86.7", "85", "OOM", ""], "numbers after ±"),
        ({"x": ["86,7 (± 0,3)", "85 ± 0,2"]}, ";", None, ["86.7", "85"], "numbers after ± left out, decimal commas"),
        ({"x": ["86.7% ± 0.3%", "85 ± 1"]}, ",", None, ["86.7% ± 0.3%", "85 ± 1"], ""),
        ({"x": ["5 ± x", "6"]}, ",", None, ["5 ± x", "6"], ""),
        ({"x": ["8 GB", "16 GB"]}, ",", None, ["8", "16"], "numbers in GB"),
        ({"x": ["8 GB", "512 MB"]}, ",", None, ["8000", "512"], "numbers in MB"),
        ({"x": ["1.5h", "30 min"]}, ",", None, ["90", "30"], "numbers in min"),
        ({"x": ["350K", "1M", "2k", "12"]}, ",", None, ["350000", "1000000", "2000", "12"], "powers of ten"),
        ({"x": ["3x3", "5x5"]}, ",", None, ["3x3", "5x5"], ""),
        ({"x": ["2024-01-02", "2024-01-03"]}, ",", None, ["2024-01-02", "2024-01-03"], ""),
    ],
)
def test_number_format_is_that_of_file(
    columns: dict[str, list[Any]], delimiter: str, decimal: str | None, wanted: list[Any], note: str
) -> None:
    given = {name: cells.of_series(pd.Series(values)) for name, values in columns.items()}
    found = formats.spellings(given, delimiter, decimal)
    made = found["x"].cells if "x" in found else given["x"]
    assert made.astype(object).where(made.notna(), None).tolist() == wanted
    assert note in found["x"].note if note else not found.get("x", formats.Spelling(None)).note


@pytest.mark.hostile
@pytest.mark.parametrize("cell", ["1" * 100_000 + "!", "1" + " " * 100_000 + "!", "." + "1" * 100_000 + "e!"])
def test_long_cell_that_is_nearly_number_is_read_at_once(cell: str) -> None:
    lines = "".join(f".{k},{k % 3 or cell},.{k * k % 7}\n" for k in range(1, 10))
    assert [h.name for h in from_text(f"lr,k,acc\n{lines}".encode(), categorical=["k"]).space] == ["lr", "k"]
    rejects("column acc: must be a number", from_text, f"lr,k,acc\n{lines}0,0,{cell}\n".encode(), "acc", drop=["k"])


def test_thousands_are_no_decimals() -> None:
    lines = zip(["500", "1,000", "2,000"] * 2, ["1,240", "860", "412", "95", "1,015", "78"], range(6), strict=True)
    text = "warmup,k,ppl\n" + "".join(f'"{w}",{k},"{p}"\n' for w, p, k in lines)
    table = from_text(text.encode(), "ppl", "min", hyperparameters=["warmup", "k"])
    assert sorted(table.values.ravel()) == [78, 95, 412, 860, 1015, 1240]
    assert definitions(table)["warmup"].values == (500, 1000, 2000)


def test_ambiguous_point_is_asked_and_stated_comma_makes_it_separator() -> None:
    text = "vocab;layers;bleu\n" + "".join(f"{v};{n};{n * v % 7}\n" for v in (860, 1000, 2500, 4000) for n in (1, 2, 3))
    text = text.replace("000;", ".000;").replace("500;", ".500;")
    rejects(r"column vocab: 1\.000 may be 1000 or 1\.000, .* --decimal \. or --decimal ,", from_text, text.encode())
    assert definitions(from_text(text.encode(), decimal=","))["vocab"].values == (860, 1000, 2500, 4000)
    for plain, options in ((text, {"decimal": "."}), (text.replace(";1;", ";1.5;"), {})):
        assert definitions(from_text(plain.encode(), **options))["vocab"].values == (1.0, 2.5, 4.0, 860.0)


def test_ambiguous_comma_is_asked_never_stated(cli: Any, tmp_path: Any) -> None:
    text = "lr;ppl\n1;1,240\n2;860\n3;1,015\n"
    rejects(r"column ppl: 1,015 may be 1015 or 1\.015, .* --decimal \. or --decimal ,", from_text, text.encode(), "ppl")
    assert from_text(text.encode(), "ppl", decimal=".").values.max() == 1240
    assert from_text(text.encode(), "ppl", decimal=",").values.max() == 860
    path = str(write(tmp_path, text))
    assert "--decimal" in cli(["table", "from-csv", path, "--dry-run"], 2)
    assert main(["table", "from-csv", path, "--dry-run", "--decimal", "."]) == 0
    rejects("decimal must be a point or a comma, got ';'", from_text, text.encode(), "ppl", decimal=";")


DRAWS: dict[str, tuple[Any, bool, scales.Kind]] = {
    "lr over two decades": (lambda r, n: 10 ** r.uniform(-5, -3, n), False, "log"),
    "lr over four decades": (lambda r, n: 10 ** r.uniform(-5, -1, n), False, "log"),
    "dropout": (lambda r, n: r.uniform(0, 0.5, n), False, "linear"),
    "units": (lambda r, n: r.integers(1, 500, n).astype(float), True, "linear"),
    "batch size": (lambda r, n: np.round(np.exp(r.uniform(np.log(8), np.log(1024), n))), True, "log"),
    "beta1": (lambda r, n: 1 - 10 ** r.uniform(-4, 0, n), False, "decay"),
    "beta2": (lambda r, n: 1 - 10 ** r.uniform(-6, -1, n), False, "decay"),
    "momentum": (lambda r, n: r.uniform(0.5, 0.99, n), False, "linear"),
}


@pytest.mark.parametrize("name", DRAWS)
def test_scales_of_draws_are_right_or_asked(name: str) -> None:
    draw, whole, kind = DRAWS[name]
    wrong = {n: 0 for n in (200, 50, 20)}
    for n in wrong:
        for seed in range(200):
            scale = scales.scale_of(draw(np.random.default_rng(seed), n), whole)
            wrong[n] += scale.certain and scale.kind != kind
            assert n < 200 or (scale.kind == kind and scale.certain)
    assert wrong == {200: 0, 50: 0, 20: 0}


@pytest.mark.parametrize(
    ("grid", "kind"),
    [
        ([32, 64, 128, 256, 512, 1024, 2048], "log"), ([1e-4 * 2 ** (k / 2) for k in range(21)], "log"),
        ([1, 3, 10, 30], "log"), ([0.001, 0.01], "log"), ([1, 2, 5, 10, 20, 50], "log"), ([0.1, 0.2, 0.3], "linear"),
        ([1, 2, 3, 4], "linear"), ([0, 0.1, 0.2, 0.3, 0.5], "linear"), ([0, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2], "log"),
        ([0.05, 0.0625, 0.08, 0.1, 0.12, 0.15], "linear"),
        ([0.9, 0.99, 0.999], "decay"), ([0.1, 0.5, 0.9], "linear"), ([-1, 0, 1], "linear"),
        ([2, 5, 10], "log"),
    ],
)  # fmt: skip
def test_scales_of_grids(grid: list[float], kind: str) -> None:
    found = scales.scale_of(np.repeat(np.array(grid, float), 3), all(g == int(g) for g in grid))
    assert (found.kind, found.certain) == (kind, True)


def test_zero_is_lowest_step_and_decay_is_stored_as_rest() -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"wd": rng.choice([0, 1e-6, 1e-5, 1e-4, 1e-3], 60), "beta2": 1 - 10 ** rng.uniform(-4, 0, 60)})
    table = user.from_frame(frame.assign(acc=rng.uniform(0, 1, 60)), "acc")
    space = definitions(table)
    assert (space["wd"].log, space["wd"].low) == (True, 0.0)
    at = space["wd"].scale([0, 1e-6, 1e-5, 1e-4, 1e-3])
    np.testing.assert_allclose(at, [0, 0.25, 0.5, 0.75, 1], atol=1e-12)
    assert space["beta2"].complement
    found = sorted(table.config(i)["beta2"] for i in range(60))
    np.testing.assert_allclose(found, np.sort(frame["beta2"]), rtol=1e-12)
    env = gym.make("TableHPO-v0", table=table)
    env.reset(seed=0)
    assert np.isfinite(env.step(0)[1])
    linear = user.from_frame(frame.assign(acc=frame["wd"]), "acc", log={"beta2": False, "wd": False})
    assert not any(h.log for h in linear.space)
    with pytest.raises(ValueError, match=r"column wd: must be in \[0, 1\) to be a decay rate, got 0 to 2"):
        user.from_frame(frame.assign(acc=frame["wd"], wd=[0, 1, 2] * 20), "acc", log={"wd": "decay"})


def test_hyperparameter_with_telling_name_is_kept() -> None:
    text = b"min_df,mem,loss_weight,acc\n" + b"".join(
        b"%d,%d GB,%d,.%d\n" % (k % 3, k % 2 + 1, k % 4, k) for k in range(24)
    )
    assert [h.name for h in from_text(text, "acc").space] == ["min_df", "mem", "loss_weight"]


def test_numbers_with_units_that_hardly_repeat_are_measured() -> None:
    lines = "".join(f"{k % 4},{8 * (1 + k % 2)} GB,10.{k} GB,{350 + k % 3}K,.{k + 10}\n" for k in range(33))
    table = from_text(f"layers,ram,peak,params,acc\n{lines}".encode(), "acc")
    space = definitions(table)
    assert [*space] == ["layers", "ram", "params"]
    assert (space["ram"].kind, space["ram"].values) == ("int", (8, 16))
    assert space["params"].values == (350_000, 351_000, 352_000)
    assert "GB" in decided(table, "ram")
    assert "measured" in decided(table, "peak")


def grid() -> pd.DataFrame:
    shape = {"d_model": [128, 256, 512], "heads": [2, 4, 8], "lr": [1e-4, 1e-3, 1e-2]}
    frame = pd.DataFrame(np.array(np.meshgrid(*shape.values())).reshape(3, -1).T, columns=[*shape])
    return frame.assign(d_head=frame.d_model / frame.heads, acc=np.random.default_rng(0).uniform(0, 1, len(frame)))


def test_functions_of_other_columns_are_named_and_left_out_on_request() -> None:
    frame = grid()
    table = user.from_frame(frame, "acc")
    assert "a function of d_model and heads" in "\n".join(table.provenance.notes)
    assert [h.name for h in user.from_frame(frame, "acc", drop=["d_head"]).space] == ["d_model", "heads", "lr"]
    rng = np.random.default_rng(1)
    laws = pd.DataFrame({"N": rng.uniform(1e7, 1e9, 30), "D": rng.uniform(1e9, 1e11, 30)})
    laws = laws.assign(tokens_per_param=laws.D / laws.N, loss=rng.uniform(2, 3, 30))
    notes = "\n".join(user.from_frame(laws, "loss").provenance.notes)
    assert "tokens_per_param: proportional to D / N" in notes
    free = user.from_frame(frame.drop(columns="d_head"), "acc").provenance.notes
    assert not any("function of" in note for note in free)


def test_pairs_of_many_columns_are_not_examined() -> None:
    wide = pd.DataFrame(np.random.default_rng(0).uniform(0, 1, (60, 500))).add_prefix("c")
    few = wide.iloc[:, :100].assign(acc=wide.c0, double=wide.c1 * 2, product=wide.c1 * wide.c2)
    found = str(user.decide(user.read(few)))
    assert "double: proportional to c1: left out" in found
    assert "c1 x c2" not in found
    found = user.decide(user.read(wide.assign(acc=wide.c0, double=wide.c1 * 2)))
    assert found.uncertain[0].text == "more than 150 columns: functions of others are not looked for"


def test_ask_stops_and_decisions_are_returned(tmp_path: Any, cli: Any) -> None:
    found = user.decide(user.read(grid()), score="acc")
    assert ([d.columns for d in found.uncertain], str(found).count("\n") + 1) == ([("d_head",)], len(found.said))
    assert "d_head: " in str(found)
    assert user.build(found, "mine").provenance.sha256 == user.from_frame(grid(), "acc", name="mine").provenance.sha256
    with pytest.raises(ValueError, match="d_head: a function of d_model and heads.*--drop d_head"):
        user.decide(user.read(grid()), score="acc", ask=True)
    assert user.decide(user.read(grid()), score="acc", ask=True, drop=["d_head"]).uncertain == ()
    grid().to_csv(tmp_path / "a.csv", index=False)
    assert "--drop d_head" in cli(["table", "from-csv", str(tmp_path / "a.csv"), "--ask", "--dry-run"], 2)
    assert "11 columns" not in str(user.read(grid()))


@pytest.mark.parametrize(
    "text",
    [
        "params,params,metrics,metrics\nlr,bs,acc,loss\n.1,8,.5,1\n.2,16,.6,2\n.3,8,.7,3\n",
        "params,,metrics,\nlr,bs,acc,loss\n.1,8,.5,1\n.2,16,.6,2\n.3,8,.7,3\n",
        ",params,params,metrics,metrics\n,lr,bs,acc,loss\n0,.1,8,.5,1\n1,.2,16,.6,2\n2,.3,8,.7,3\n",
        ",params,params,metrics,metrics\n,lr,bs,acc,loss\ntrial,,,,\n0,.1,8,.5,1\n1,.2,16,.6,2\n2,.3,8,.7,3\n",
    ],
)
def test_header_of_two_lines_is_read_with_index_and_without(text: str) -> None:
    table = from_text(text.encode(), "acc")
    assert ([h.name for h in table.space], sorted(table.values.ravel())) == (["lr", "bs"], [0.5, 0.6, 0.7])
    assert any("lines of header, read as one" in note for note in table.provenance.notes)


def test_name_that_comes_twice_is_asked() -> None:
    table = from_text(b"lr,acc,lr\n.1,.5,0\n.2,.6,0\n.3,.7,1\n", "acc")
    assert [h.name for h in table.space] == ["lr", "lr.1"]
    assert "--drop lr.1 or other names settles it" in decided(table, "lr.1")


def test_line_of_units_belongs_to_header() -> None:
    table = from_text(b"lr,ram,acc\n-,GB,%\n.1,8,50\n.2,16,60\n.3,8,70\n", "acc (%)")
    assert ([h.name for h in table.space], len(table)) == (["lr", "ram (GB)"], 3)


def test_degenerate_table_is_named() -> None:
    same = b"lr,acc\n.1,.5\n.2,.5\n.3,.5\n.4,.4\n"
    (note,) = (n for n in from_text(same).provenance.notes if "degenerate" in n)
    assert "3 lines of 4 have the best score" in note
    rejects("degenerate.*--score", from_text, same, ask=True)
    assert not any("degenerate" in n for n in from_text(b"lr,acc\n.1,.5\n.2,.6\n.3,.5\n").provenance.notes)


def test_other_scores_are_measured_also_where_they_repeat() -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"k": np.arange(60) % 5, "w": np.arange(60) % 4, "MCC": rng.uniform(0, 1, 60)})
    frame = frame.assign(accuracy_dev=rng.integers(40, 60, 60) / 100, FPR=rng.uniform(0, 1, 60), acc=rng.random(60))
    table = user.from_frame(frame, "acc")
    assert [h.name for h in table.space] == ["k", "w"]
    assert "measured" in next(n for n in table.provenance.notes if "accuracy_dev" in n)


def asked(frame: pd.DataFrame, **options: Any) -> dict[str, str]:
    """Column -> the option that settles its role."""
    found = user.decide(user.read(frame), **options)
    return {column: d.option for d in found.uncertain for column in d.columns}


def test_numbers_that_change_on_each_line_of_grid_are_asked() -> None:
    rng = np.random.default_rng(0)
    frame = grid().drop(columns="d_head").assign(q=rng.normal(0, 1, 27))
    assert asked(frame, score="acc") == {"q": "--drop q or --hyperparameters"}
    assert [h.name for h in user.from_frame(frame, "acc").space] == ["d_model", "heads", "lr"]
    assert asked(frame, score="acc", drop=["q"]) == {}
    names = ["d_model", "heads", "lr", "q"]
    assert asked(frame, score="acc", hyperparameters=names) == {}
    draws = pd.DataFrame({"kind": [*"abc"] * 20, "lr": 10 ** rng.uniform(-4, -1, 60), "acc": rng.uniform(0, 1, 60)})
    assert asked(draws, score="acc") == {}


def test_settings_that_vary_on_part_of_grid_are_kept_and_duration_is_no_score() -> None:
    rows = [("gpt2", "A", r, lr) for r in (8, 16) for lr in (1e-4, 5e-4)]
    rows += [("phi", "B", 8, 1e-4), ("phi", "C", 8, 1e-4), ("gpt2", "B", 8, 5e-4), ("phi", "A", 16, 1e-4)]
    frame = pd.DataFrame(rows * 2, columns=["model", "data", "rank", "lr"])
    frame = frame.assign(out=np.arange(16) ** 2 / 300, train_time_s=np.arange(16) + 0.5, metric=["rmse", "auc"] * 8)
    table = user.from_frame(frame, "out", "max", drop=["metric"])
    assert [h.name for h in table.space] == ["model", "data", "rank", "lr"]
    assert asked(frame, score="out", goal="max") == {"metric": "--drop metric or --hyperparameters"}
    rejects("--score must name the score among the columns .*train_time_s", user.decide, user.read(frame))


def test_counts_that_others_compute_are_left_out_or_asked() -> None:
    rng, halves = np.random.default_rng(0), [68138, 170348, 340694, 511042]
    scores = {"bleu": [42.3, 46.4, 48.6, 49.5]}
    pairs = user.from_frame(pd.DataFrame({"samples": halves, "pairs": np.array(halves) // 2} | scores))
    assert decided(pairs, "pairs").startswith("pairs: proportional to samples: left out")
    heads = pd.DataFrame({"heads": [2, 4, 8, 16, 32], "head_dim": [256, 128, 64, 32, 16], "bpb": [5, 4, 2, 3, 1]})
    assert decided(user.from_frame(heads), "head_dim").startswith("head_dim: proportional to 1 / heads: left out")
    sizes = pd.DataFrame([(m, r, f) for m in ("a", "b", "c") for r in (4, 8, 16) for f in (1, 2, 3)], columns=[*"mrf"])
    base = sizes.m.map({"a": 1237, "b": 2213, "c": 3119})
    sizes = sizes.assign(params=base * 1000 + sizes.r**2 * 7919, same=sizes.m.map({"a": "A", "b": "B", "c": "C"}))
    sizes = sizes.assign(few=sizes.r.map({4: 3, 8: 5, 16: 4}), acc=rng.permutation(27) / 27)
    assert {*asked(sizes)} == {"few"}
    assert [h.name for h in user.from_frame(sizes).space] == [*"mrf", "few"]
    frame = pd.DataFrame({"bs": rng.choice([32, 64, 128, 256], 30), "seq": rng.choice([512, 1024, 2048], 30)})
    frame = frame.assign(steps=rng.integers(1000, 50000, 30), ppl=rng.uniform(20, 40, 30))
    free = frame.assign(warmup_tokens=rng.integers(10**5, 10**7, 30))
    assert {*asked(free)} == {"steps"}
    frame["tokens"] = frame.steps * frame.bs * frame.seq + rng.integers(0, 10**5, 30)
    assert {*asked(frame)} == {"steps", "tokens"}


def test_all_questions_are_asked_at_once() -> None:
    frame = pd.DataFrame({"lr": ["1,240", "860"] * 4, "x": [1.0, *[None] * 7], "y": [*[None] * 7, 2], "auc": range(8)})
    with pytest.raises(ValueError, match="(?s)--decimal.*--score must.*column x:.*--fill x=VALUE.*column y:.*--drop y"):
        user.decide(replace(user.read(frame.assign(f1=range(8, 0, -1))), delimiter=";"))


@pytest.mark.parametrize(
    ("given", "score"),
    [
        ("precision result", ""), ("loss_weight result", ""), ("memory outcome", ""), ("feature_map outcome", ""),
        ("score_threshold final", ""), ("precision loss", ""), ("eval_loss_weight accuracy", ""),
        ("result precision", "precision"), ("layers final_loss", "final_loss"),
    ],
)  # fmt: skip
def test_score_word_in_name_of_grid_is_asked(given: str, score: str) -> None:
    set_, measured = given.split()
    frame = pd.DataFrame({"lr": np.repeat([0.1, 0.2, 0.3], 3), set_: [16, 32, 64] * 3, measured: np.arange(9) ** 2})
    if score:
        assert user.decide(user.read(frame)).stated.score == (score,)
    else:
        rejects(f"--score must name the score among the columns {set_}, {measured}, got none", user.from_frame, frame)


def test_number_above_threshold_is_condition() -> None:
    frame = pd.DataFrame({"layers": [1, 2, 3, 4] * 3, "lr": np.arange(1, 13) / 100, "acc": np.arange(12) ** 2 / 150})
    table = user.from_frame(frame.assign(units=[None, None, 16, 32, None, None, 64, 16, None, None, 8, 9]))
    assert definitions(table)["units"].condition == ("layers", (3, 4))
    (run,) = benchmarks.run("bo", "TableHPO-v0", [0], budget=12, env_kwargs={"table": table})
    assert len(run.rewards) == 12


def test_lines_without_score_but_with_another_are_asked() -> None:
    frame = pd.DataFrame({"lr": [0.1, 0.2, 0.3, 0.4], "ppl": [9, 8, None, 7], "ppl_lower": [8, 7, 6, None]})
    assert {*asked(frame, score="ppl")} == {"ppl"}
    assert "ppl: 1 line without it: failed runs" in user.from_frame(frame[["lr", "ppl"]]).provenance.notes


def test_correlated_numbers_are_asked_and_independent_draws_are_not() -> None:
    rng = np.random.default_rng(0)
    for n in (30, 100, 300):
        frame = pd.DataFrame({c: rng.uniform(0, 1, n) for c in "abcde"}).assign(acc=rng.uniform(0, 1, n))
        frame = frame.assign(x=frame.a**3 + rng.normal(0, 0.01, n), y=frame.a + frame.b)
        assert not any("--drop" in option for option in asked(frame.drop(columns=["x", "y"]), score="acc").values())
        assert "x" in asked(frame, score="acc")
        same = frame.assign(x=frame.a**3, y=frame.b * 2)
        found = asked(same, score="acc")
        assert {c for c in found if "--drop" in found[c]} == {"a", "x"}
        assert {"a", "b", "c", "d", "e"} <= {h.name for h in user.from_frame(frame, "acc").space}


def test_name_alone_is_asked() -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"lr": 10 ** rng.uniform(-4, -1, 60), "k": np.arange(60) % 5, "acc": rng.uniform(0, 1, 60)})
    said = asked(frame.assign(hours=rng.integers(1, 20, 60), loss_weight=np.arange(60) % 3, node=[*"ab"] * 30))
    assert {*said} == {"hours", "node"}
    assert "epoch" in asked(frame.assign(epoch=rng.permutation(60) + 100))
    some = frame.assign(**{"Best_Params.depth": rng.permutation(60), "run.best_loss": rng.uniform(1, 2, 60)})
    assert [h.name for h in user.from_frame(some, "acc").space] == ["lr", "k", "Best_Params.depth"]
    assert "TrainTime" not in asked(frame.assign(TrainTime=rng.uniform(1, 2, 60)))
    assert [h.name for h in user.from_frame(frame.assign(fwd_us_per_step=rng.uniform(1, 2, 60))).space] == ["lr", "k"]


def test_names_of_repeated_configurations_are_asked() -> None:
    frame = pd.DataFrame([(f"A{i}", i % 2, i // 2, s) for i in range(8) for s in range(3)], columns=[*"nabs"])
    frame = frame.rename(columns={"s": "seed"}).assign(acc=np.random.default_rng(0).uniform(0, 1, 24))
    assert asked(frame) == {"n": "--drop n or --hyperparameters"}


def test_fidelity_of_configurations_without_names_is_asked() -> None:
    frame = pd.DataFrame(
        {"lr": np.repeat([0.1, 0.2, 0.3], 4), "epochs": [5, 10, 20, 40] * 3, "acc": np.arange(12) / 12}
    )
    assert asked(frame) == {"epochs": "--level epochs or --hyperparameters"}
    assert asked(frame, level="epochs") == asked(frame, hyperparameters=["lr", "epochs"]) == {}


RUNS = {"gap": [(1, 2, 3), (1, 3), (2, 3)], "twice": [(1, 2, 2, 3), (1, 2, 3), (1, 2, 3)], "no id": [(1, 2, 3)] * 6}


@pytest.mark.parametrize("case", RUNS)
def test_checkpoint_that_is_taken_as_hyperparameter_is_asked(case: str) -> None:
    lines = [(i, 10.0 ** -(i % 3), e, (7 * i + 3 * e) % 11 / 11) for i, run in enumerate(RUNS[case]) for e in run]
    frame = pd.DataFrame(lines, columns=["id", "lr", "epoch", "acc"]).drop(columns=["id"] if case == "no id" else [])
    frame["acc"] += np.arange(len(frame)) / 1000
    assert asked(frame)["epoch"] == "--level epoch, --drop epoch or --hyperparameters"
    assert [h.name for h in user.from_frame(frame).space] == ["lr", "epoch"]
    assert "epochs" not in asked(frame.rename(columns={"epoch": "epochs"}))


def test_checkpoints_from_0_have_cost() -> None:
    runs = [(lr, 100 * k, lr + k / 10) for lr in (0.1, 0.2, 0.3, 0.4) for k in range(4)]
    table = user.from_frame(pd.DataFrame(runs, columns=["lr", "step", "acc"]), "acc", level="step")
    assert table.levels.tolist() == table.cost[0, 0].tolist() == [100, 200, 300, 400]
    assert decided(table, "step").endswith(
        "step: counted from 0: each is taken as 100 more, as training up to the first has a cost"
    )
    for agent in ("asha", "hyperband", "freeze-thaw"):
        (run,) = benchmarks.run(agent, "TableLC-v0", [0], env_kwargs={"table": table})
        assert run.costs.sum() > 0


def test_outcome_that_is_taken_as_hyperparameter_is_asked() -> None:
    frame = pd.DataFrame({"lr": np.arange(1, 9) ** 2, "state": np.arange(8) % 3, "acc": np.arange(8) * 3 % 8})
    for column, values in {"state": frame.state, "success": frame.state > 0}.items():
        told = asked(frame.drop(columns="state").assign(**{column: values}))
        assert told[column] == f"--status {column}, --drop {column} or --hyperparameters"


def test_numbers_that_name_jobs_and_moments_are_no_hyperparameters() -> None:
    k = np.arange(1, 9)
    frame = pd.DataFrame({"lr": k * 37 % 10, "ts": 1700000000 + 137 * k, "slurm_job": 884400 + 3 * k, "port": 8000 + k})
    assert [h.name for h in user.from_frame(frame.assign(acc=k * 3 % 8)).space] == ["lr"]


def test_goal_of_negative_scores_is_asked() -> None:
    frame = pd.DataFrame({"lr": [1, 2, 4], "accuracy": [-0.5, -0.75, -0.6]})
    rejects("goal of accuracy must be max or min, got none: its values are all negative", user.from_frame, frame)
    assert user.from_frame(frame, goal="min").metrics[0].goal == "min"
    assert user.from_frame(frame.rename(columns={"accuracy": "neg_loss"})).metrics[0].goal == "max"


def test_curves_in_cells_are_checkpoints() -> None:
    runs = [{"lr": lr, "loss": [1 / (k + 1) + lr for k in range(60)]} for lr in (0.1, 0.2, 0.3)]
    table = user.from_frame(pd.DataFrame(runs), "loss")
    assert (table.values.shape, [h.name for h in table.space]) == ((3, 1, 60, 1), ["lr"])
    assert table.values.min() == pytest.approx(1 / 60 + 0.1)


def test_constant_under_condition_and_labels_of_some_runs_are_left_out() -> None:
    frame = pd.DataFrame({"opt": ["sgd", "adam"] * 8, "lr": np.arange(1, 17) / 100, "acc": np.arange(16) ** 2 / 300})
    sgd = frame.opt == "sgd"
    frame = frame.assign(nesterov=np.where(sgd, 1.0, np.nan), what=[*"abcdefghijklmn", None, None])
    table = user.from_frame(frame, "acc")
    assert [h.name for h in table.space] == ["opt", "lr"]
    assert decided(table, "nesterov") == "nesterov: always 1 while opt is sgd, left out"
    assert "another text for each run" in decided(table, "what")


def test_other_columns_of_small_full_grid_are_asked() -> None:
    rows = [(h, e) for h in (1, 2, 4) for e in (True, False)]
    frame = pd.DataFrame(rows, columns=["heads", "deep"]).assign(mae=[6, 5, 4, 3, 2, 1], median=[5, 5, 4, 4, 2, 1.5])
    assert (asked(frame).keys(), [h.name for h in user.from_frame(frame).space]) == ({"median"}, ["heads", "deep"])


def test_condition_on_conditional_choice_is_found() -> None:
    rows = [(None, None, None)] * 2 + [("A", "cut", 0.1), ("A", "cut", 0.5), ("B", "svd", 0.2), ("B", "quant", None)]
    frame = pd.DataFrame(rows, columns=["method", "compression", "level"]).assign(acc=np.arange(6) / 6)
    space = definitions(user.from_frame(frame, "acc"))
    assert space["compression"].condition == ("method", ("A", "B"))
    assert space["level"].condition == ("compression", ("cut", "svd"))


@pytest.mark.parametrize(
    "goal, names",
    [
        ("max", "neg_mean_squared_error val_neg_log_loss neg_brier_score loss_improvement bleu_gain log_likelihood"),
        ("min", "mean_squared_error brier_score neg_log_likelihood accuracy_drop"),
        ("max", "1-shot_accuracy top-1-accuracy ranking_score"),
        (None, "f1_loss negative 1-accuracy 1_minus_auc inverse_accuracy auc_rank train_val_acc_gap"),
    ],
)
def test_goals_follow_from_names(goal: str | None, names: str) -> None:
    assert {goal_of(name) for name in names.split()} == {goal}
