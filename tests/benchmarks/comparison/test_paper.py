"""Files of a paper: the tables agree with the runs, and the study repeats them."""

import dataclasses
import shutil
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas
import pytest

from hpo_envs.benchmarks import Comparison, run
from hpo_envs.benchmarks.comparison import paper
from hpo_envs.benchmarks.study import store
from hpo_envs.benchmarks.study.study import from_data
from hpo_envs.commands.main import main
from hpo_envs.tables import user
from tests.helpers import rejects

pytest.importorskip("matplotlib")

STUDY = {
    "environments": ["NMTHPO-zhen-v0", "NMTHPO-jaen-v0", "CharHPO-g2p-hun-lstm-v0"],
    "agents": ["random", {"name": "my_ei", "algorithm": "bo-ucb", "hyperparameters": {"beta": 4.0}}],
    "seeds": 4,
    "budget": 4,
}


def test_paper_folder_has_numbers_of_runs_and_repeats(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    comparison = Comparison(STUDY, tmp_path / "runs").run()
    assert main(["report", str(tmp_path / "runs"), "--paper", str(tmp_path / "out")]) == 0
    out = tmp_path / "out"
    assert f"files in {out}" in capsys.readouterr().out
    assert {f.stem.removeprefix("NMTHPO-") for f in out.glob("NMTHPO-*.pdf")} == {
        f"{name}-{width}" for name in ("ranks", "evaluations", "cost") for width in ("one-column", "two-columns")
    }
    scores = pandas.read_csv(out / "scores.csv")
    question = "SELECT avg(mean_regret) FROM '{}' WHERE environment = ? AND agent = ?"
    for _, cell in scores.iterrows():
        given = [cell["environment"].partition(" ")[0], cell["agent"]]
        (found,) = duckdb.execute(question.format(out / "runs.parquet"), given).fetchone()
        assert found == pytest.approx(cell["anytime"], rel=1e-3)
    table = (out / "tables.tex").read_text()
    best = {
        r["agent"] for t in comparison.scores["tracks"] for r in t["ranking"] if r["here"] in ("best", "tied for best")
    }
    assert all(rf"\textbf{{{paper.tex(agent)}}}" in table for agent in best)
    assert "my\\_ei" in table
    appendix = (out / "appendix.tex").read_text()
    typed = f"hpo-envs report {tmp_path / 'runs'} --paper {out}"
    made, tables = f"Comparison({STUDY!r}, '{tmp_path / 'runs'}').run()", comparison.frame("runs").sha256.unique()
    assert all(fact in appendix for fact in (typed, made, "compare study.toml", "numpy", "beta", *tables))
    assert {"@software{hpo_envs", "@article{zhang2020reproducible"} <= {
        line.rstrip(",") for line in (out / "references.bib").read_text().splitlines()
    }
    assert Comparison(out / "study.toml").run().digest() == comparison.digest()
    if shutil.which("pdflatex"):
        subprocess.run(["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "paper.tex"], cwd=out, check=True)


@pytest.mark.filterwarnings("error:constrained_layout")
def test_runs_with_other_arguments_have_curves_and_study_files_of_their_own(tmp_path: Path) -> None:
    given = {"cost": "evaluations", "budget": 30}, {"cost": "evaluations", "budget": None, "subsample": 0.005}
    agents = ("random", {}), ("successive-halving", {}), ("successive-halving", {"eta": 2})
    some = [run(a, "NMTLC-swen-v0", range(3), env_kwargs=kw, **own) for kw in given for a, own in agents]
    comparison = Comparison.of([one for runs in some for one in runs])
    comparison.paper(tmp_path)
    curves, cells = pandas.read_csv(tmp_path / "curves.csv"), pandas.DataFrame(comparison.scores["cells"])
    last = curves[curves["by"] == "cost"].groupby("agent")["mean"].last()
    final = cells.assign(end=cells["final"].str[0]).groupby("agent")["end"].mean()
    assert last.to_dict() == pytest.approx(final.to_dict(), rel=1e-3)
    names = ["environment", "agent", "seed", "hyperparameters", "budget", "subsample", "mean_regret", "final_regret"]
    again = pandas.concat([Comparison(file).run().frame("runs") for file in tmp_path.glob("study*.toml")])
    ours, theirs = (f[names].sort_values(names, ignore_index=True) for f in (comparison.frame("runs"), again))
    pandas.testing.assert_frame_equal(ours, theirs)
    assert "compare study-4.toml --out runs-4/" in (tmp_path / "appendix.tex").read_text()


def test_given_tables_are_environments_of_their_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HPO_ENVS_TABLES", str(tmp_path / "tables"))
    for name, best in (("ta", 1.0), ("tb", 2.0)):
        frame = pandas.DataFrame({"lr": np.logspace(-4, -1, 20), "acc": np.linspace(0.0, best, 20)})
        user.save(user.from_frame(frame, "acc", "max", name=name))
    study = {"environments": {"id": "TableHPO-v0", "table": "ta"}, "agents": "random", "seeds": 3, "budget": 5}
    one = Comparison(study, tmp_path / "runs").run()
    one.paper(tmp_path / "paper")
    assert Comparison(tmp_path / "paper" / "study.toml").run().digest() == one.digest()
    other = {**study, "environments": {"id": "TableHPO-v0", "table": "tb"}, "agents": ["bo"]}
    rejects("has runs of TableHPO-v0 with table 'user/ta', bo would add 'user/tb'", Comparison(other, one.folder).run)
    Comparison(other, tmp_path / "others").run()
    found = {cell["environment"] for cell in Comparison.load(one.folder, tmp_path / "others").scores["cells"]}
    assert found == {"TableHPO-v0 (subsample=0.8, table=ta)", "TableHPO-v0 (subsample=0.8, table=tb)"}


def test_study_files_have_fewer_seeds_of_slow_agents() -> None:
    env = "NMTHPO-zhen-v0"
    some = [*run("random", env, range(100), budget=2), *run("graph-ei-rbf", env, range(20), budget=2)]
    (text,) = paper.studies_of(Comparison.of(some).frame("runs")).values()
    found = from_data(tomllib.loads(text))
    assert (found.by_cost, len(found.seeds)) == (True, 100)


def test_paper_of_a_summary_is_rejected(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Comparison({**STUDY, "environments": "NMTHPO-zhen-v0", "agents": "random"}, tmp_path / "runs").run()
    assert main(["report", str(tmp_path / "runs"), "--summary", str(tmp_path / "s.json")]) == 0
    assert main(["report", str(tmp_path / "s.json"), "--paper", str(tmp_path / "out")]) == 2
    assert "--paper must be used with a folder of runs" in capsys.readouterr().err


def test_files_of_the_user_are_not_replaced(tmp_path: Path, cli: Any) -> None:
    runs, out = tmp_path / "runs", tmp_path / "paper"
    comparison = Comparison({**STUDY, "environments": "NMTHPO-zhen-v0", "agents": "random"}, runs).run()
    for name in ("paper.tex", "study.toml", "references.bib", "scores.csv"):
        out.mkdir()
        (out / name).write_text("mine\n")
        rejects(f"{name} must be new, or a file that hpo_envs wrote, got another", comparison.paper, out)
        assert [(f.name, f.read_text()) for f in out.iterdir()] == [(name, "mine\n")]
        shutil.rmtree(out)
    assert comparison.paper(out) == comparison.paper(out)
    before = (runs / "study.json").read_bytes()
    assert "study.json must be new, or a file that" in cli(["report", str(runs), "--out", str(runs / "study.json")], 2)
    assert "study.json must be " in cli(["report", str(runs), "--summary", str(runs / "study.json")], 2)
    assert (runs / "study.json").read_bytes() == before


def test_toml_of_plain_data() -> None:
    data = {"a": [1, 'x"y\n', True, 0.5], "b": {"c-d": None, "e": []}}
    assert tomllib.loads(f"value = {paper._toml(data)}")["value"] == {"a": data["a"], "b": {"e": []}}


def test_appendix_has_call_that_writes_it(tmp_path: Path) -> None:
    raw = {"variant": "paper"}  # no scale, so no pictures
    runs = run("random", "CushLEPOR-ted-ende-v0", range(2), budget=3, env_kwargs=raw)
    plain = {"env": "Gone-v0", "env_kwargs": {"budget": 3}}  # an id of a plugin that is gone
    gone = [dataclasses.replace(one, header=one.header | plain) for one in runs]
    Comparison.of(gone).paper(tmp_path / "out")
    assert 'id" = "Gone-v0"' in (tmp_path / "out" / "study.toml").read_text()
    assert f"Comparison.of(runs).paper('{tmp_path / 'out'}')" in (tmp_path / "out" / "appendix.tex").read_text()
    store.write(runs, tmp_path / "runs")
    Comparison.load(tmp_path / "runs").paper(tmp_path / "none")
    assert not (tmp_path / "none" / "study.toml").exists()  # no study has a variant
    assert "The same runs" not in (tmp_path / "none" / "appendix.tex").read_text()
    Comparison.load(tmp_path / "runs").paper(tmp_path / "out")
    call = f"Comparison.load('{tmp_path / 'runs'}').paper('{tmp_path / 'out'}')"
    assert call in (tmp_path / "out" / "appendix.tex").read_text()
