"""Comparisons from a study to a verdict: runs, replays, missing runs and written files."""

from pathlib import Path
from typing import Any

import pandas
import pytest

from hpo_envs.agents.random import RandomSearch
from hpo_envs.benchmarks import Comparison, run
from hpo_envs.benchmarks.comparison.replay import Replay
from hpo_envs.benchmarks.study import store
from hpo_envs.commands.main import main
from hpo_envs.families import registry
from tests.helpers import raises, rejects

STUDY: dict[str, Any] = {
    "environments": ["NMTHPO-zhen-v0", "NMTHPO-jaen-v0"],
    "agents": ["random", "graph-ei-rbf"],
    "seeds": 6,
    "budget": 4,
}


@pytest.fixture
def replayed(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Number of runs that were replayed."""
    seen: list[int] = []
    original = Replay.__call__

    def count(self: Replay, part: Path, block: Any) -> None:
        seen.append(len(block))
        original(self, part, block)

    monkeypatch.setattr(Replay, "__call__", count)
    return seen


def test_a_comparison_in_memory_equals_the_stored_one(tmp_path: Path) -> None:
    here = Comparison(STUDY).run()
    there = Comparison(STUDY, tmp_path).run()
    assert here.digest() == there.digest() == store.digest(store.read(tmp_path))
    assert here.scores == there.scores
    loaded = Comparison.load(tmp_path).scores
    assert sorted(map(repr, loaded["cells"])) == sorted(map(repr, here.scores["cells"]))
    assert (loaded["tracks"][0]["ranking"], here.verdict()) == (here.scores["tracks"][0]["ranking"], there.verdict())
    assert here.verdict().startswith("NMTHPO: On these 2 tasks, ")
    assert str(here).count("mean regret") == 2
    assert "Comparison of 2 agents on 2 environments" in repr(here)
    assert Comparison.load(more=store.read(tmp_path)).digest() == here.digest()
    rejects("runs must not be empty", Comparison.load().verdict)
    frame = there.frame()
    assert len(frame) == 2 * 2 * 6 * 4
    times = ["ask_seconds", "tell_seconds"]
    assert frame.drop(columns=times).equals(here.frame("evaluations").drop(columns=times))
    whole = there.frame("runs")
    assert (len(whole), {*whole.status}) == (24, {"budget spent"})
    assert {*whole.group} == {*map(registry.group_of, STUDY["environments"])}
    cells = {(c["environment"].partition(" ")[0], c["agent"]): c for c in there.scores["cells"]}
    for key, some in whole.groupby(["environment", "agent"]):
        assert some.mean_regret.mean() == pytest.approx(cells[key]["anytime"][0], rel=1e-3)
        assert some.final_regret.mean() == pytest.approx(cells[key]["final"][0], rel=1e-3, abs=1e-9)
    with raises("table must be one of runs, evaluations, got 'run', did you mean 'runs'?"):
        here.frame("run")
    assert [*here.by_environment()["NMTHPO-jaen-v0"]] == ["random", "graph-ei-rbf"]
    assert here.header("NMTHPO-zhen-v0 (subsample=0.8)", "random")["agent"] == "random"
    Comparison({**STUDY, "agents": "bo"}, other := tmp_path.with_name("other")).run()
    assert {*Comparison.load(tmp_path, other).frame()["agent"]} == {*STUDY["agents"], "bo"}


def test_only_runs_read_from_disk_are_replayed(tmp_path: Path, replayed: list[int]) -> None:
    first = Comparison(STUDY, tmp_path).run()
    assert (replayed, first.checked) == ([], "")
    more = Comparison({**STUDY, "seeds": 8}, tmp_path).run()
    assert more.outcome is not None
    assert (more.outcome.made, more.outcome.found, sum(replayed)) == (8, 24, 24)
    assert more.checked == "Replayed 24 stored runs: all rewards, costs and statuses are equal."
    assert {c["n"] for c in more.scores["cells"]} == {8}
    Comparison.load(tmp_path)
    assert sum(replayed) == 24 + 32


def test_given_runs_are_compared() -> None:
    runs = [r for agent in STUDY["agents"] for r in run(agent, "NMTHPO-zhen-v0", range(5), budget=4)]
    comparison = Comparison.of(runs)
    assert {c["agent"] for c in comparison.scores["cells"]} == {*STUDY["agents"]}
    with raises("path must be given if the runs are in no folder, got None"):
        comparison.report()
    with raises("study must be a Study, its content or the path of its file, got 3"):
        Comparison(3)  # type: ignore[arg-type]
    with raises("run must be called once, on a comparison of a study, got no study"):
        comparison.run()


def test_what_is_saved_has_runs_of_earlier_studies_too(tmp_path: Path) -> None:
    for _ in Comparison(STUDY, tmp_path).run().save():
        pass
    texts = [*Comparison({**STUDY, "agents": "bo-ei-rbf", "seeds": 2}, tmp_path).run().save()]
    assert sum("6 seeds" in text for text in texts) == 2
    assert len(pandas.read_parquet(tmp_path / "runs.parquet")) == 24 + 4
    assert len(pandas.read_csv(tmp_path / "summary.csv")) == 4 + 2


def test_degenerate_tasks_have_no_scores(tmp_path: Path) -> None:
    both = [*STUDY["environments"][:1], "CharHPO-inflection-hai-lstm-v0"]
    comparison = Comparison({**STUDY, "environments": both}, tmp_path).run()
    assert [*comparison.save()]
    rows = pandas.read_csv(tmp_path / "summary.csv").set_index("environment")
    known = rows.filter(like="CharHPO", axis=0)[["anytime", "final", "solved", "n"]].notna().any().to_dict()
    assert known == {"anytime": False, "final": False, "solved": False, "n": True}
    assert rows.filter(like="NMTHPO", axis=0)["solved"].notna().all()
    (part,) = (text for text in str(comparison).split("\n\n") if text.startswith("CharHPO"))
    assert part.splitlines()[1:] == [comparison.verdict().splitlines()[1].partition(": ")[2]]


def test_what_cannot_be_scored_is_refused_before_the_first_run(tmp_path: Path) -> None:
    three = {
        "environments": "NMTHPO-zhen-v0",
        "agents": "random",
        "objective": ["bleu", "decoding_seconds", "perplexity"],
    }
    with raises(
        "objective must be one or two names for hypervolume, got bleu, decoding_seconds, perplexity on NMTHPO-zhen-v0"
    ):
        Comparison(three, tmp_path).run()
    assert not [*tmp_path.glob("*/*.parquet")]


def test_report_and_plot(tmp_path: Path) -> None:
    comparison = Comparison(STUDY, tmp_path).run()
    assert comparison.report(title="Mine") == tmp_path / "report.html"
    page = (tmp_path / "report.html").read_text("utf-8")
    assert "<title>Mine</title>" in page
    assert "runs of the study are missing" not in page
    pytest.importorskip("matplotlib")
    assert comparison.plot().get_title().startswith("NMTHPO")
    with raises("track must be one of NMTHPO, got 'FIESTA'"):
        comparison.plot("FIESTA")


@pytest.mark.hostile
@pytest.mark.parametrize("how", ["deleted", "moved up"])
def test_report_names_missing_runs_in_its_first_line(tmp_path: Path, how: str, capsys: Any, cli: Any) -> None:
    Comparison(STUDY, tmp_path).run()
    assert "INCOMPLETE" not in cli(["report", str(tmp_path)])
    (part,) = (tmp_path / "NMTHPO-zhen-v0").glob("random-*.parquet")
    part.rename(tmp_path / part.name) if how == "moved up" else part.unlink()
    assert main(["report", str(tmp_path)]) == 0
    said = "INCOMPLETE: 6 of 24 runs of the study are missing: random on NMTHPO-zhen-v0, seeds 0-5."
    assert capsys.readouterr().out.splitlines()[0] == said
    assert said in (tmp_path / "report.html").read_text("utf-8")
    assert Comparison(STUDY, tmp_path).run().scores["cells"]  # makes them
    assert Comparison.load(tmp_path).missing == ""


class Fails(RandomSearch):
    """Random search that fails in some runs."""

    def ask(self) -> Any:
        if self.problem.rows > 140:
            raise RuntimeError("too many")
        return super().ask()


def test_a_stopped_agent_is_named_in_python_too(tmp_path: Path) -> None:
    study = {**STUDY, "agents": ["random", f"{__name__}:Fails"], "seeds": 3, "subsample": 1.0}
    comparison = Comparison(study, tmp_path).run()
    count = sum(name == f"{__name__}:Fails" for _, name in comparison.outcome.errors)  # type: ignore[union-attr]
    assert count == 1
    said = comparison.missing.splitlines()
    assert said[0].startswith("INCOMPLETE: 3 of 12 runs of the study are missing: ")
    assert said[1].endswith(":Fails on NMTHPO-jaen-v0 stopped: RuntimeError: too many")
    for text in (str(comparison), comparison.verdict(), comparison.report().read_text("utf-8")):
        assert all(line in text for line in said)


@pytest.mark.hostile
def test_a_folder_whose_name_is_no_utf_8_is_accepted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "folder \udcff"
    Comparison({**STUDY, "environments": "NMTHPO-zhen-v0"}, folder).run()
    assert main(["report", str(folder), "--summary", str(folder / "s.json")]) == 0
    assert main(["report", str(folder / "s.json"), "--out", str(folder / "again.html")]) == 0
    assert f"{tmp_path}/folder \\udcff/again.html" in capsys.readouterr().out
    assert (folder / "report.html").read_bytes().decode()


@pytest.mark.hostile
def test_report_rejects_to_write_through_symbolic_links(tmp_path: Path, capsys: Any, cli: Any) -> None:
    runs, mine = tmp_path / "runs", tmp_path / "mine.txt"
    Comparison({**STUDY, "environments": "NMTHPO-zhen-v0"}, runs).run()
    mine.write_text("precious")
    (runs / "report.html").symlink_to(mine)
    for words in ([], ["--out", str(runs / "report.html")], ["--summary", str(runs / "report.html")]):
        page = ["--out", str(tmp_path / "page.html")] if "--summary" in words else []
        assert f"got a symbolic link to {mine}" in cli(["report", str(runs), *words, *page], 2)
    (runs / "paper").mkdir()
    (runs / "paper" / "tables.tex").symlink_to(mine)
    assert main(["report", str(runs), "--out", str(tmp_path / "page.html"), "--paper", str(runs / "paper")]) == 2
    assert f"got a symbolic link to {mine}" in capsys.readouterr().err
    assert mine.read_text() == "precious"
    (runs / "linked").symlink_to(tmp_path)
    assert main(["report", str(runs), "--out", str(tmp_path / "page.html"), "--paper", str(runs / "linked")]) == 2
    assert f"got a symbolic link to {tmp_path}" in capsys.readouterr().err


@pytest.mark.hostile
@pytest.mark.parametrize(
    "name",
    ["summary.csv", "study.json", "figures/NMTHPO-zhen-v0.png", "figures/NMTHPO-zhen-v0-targets.csv", "NMTHPO-zhen-v0"],
)
def test_compare_rejects_to_write_through_symbolic_links(tmp_path: Path, name: str, cli: Any) -> None:
    runs, mine = tmp_path / "runs", tmp_path / "mine.txt"
    given = ["compare", "--env", "NMTHPO-zhen-v0", "--seeds", "2", "--budget", "2", "--out", str(runs)]
    mine.mkdir() if name == "NMTHPO-zhen-v0" else mine.write_text("precious")
    (runs / name).parent.mkdir(parents=True)
    (runs / name).symlink_to(mine)
    assert f"got a symbolic link to {mine}" in cli([*given, "--scores", "targets"], 2)
    assert [*mine.iterdir()] == [] if mine.is_dir() else mine.read_text() == "precious"
