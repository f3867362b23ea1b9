"""Results of a search: best evaluation, frame, plot, page."""

import argparse
import ast
import base64
import gzip
import html
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hpo_envs
from hpo_envs.benchmarks.analysis import forest_importance
from hpo_envs.commands import report
from hpo_envs.commands.main import main
from hpo_envs.tuning import Tuned, tune
from hpo_envs.tuning.pages import page
from hpo_envs.tuning.record import NAME
from tests.helpers import rejects
from tests.hpo_envs.tuning import helpers


@pytest.fixture(scope="module")
def tuned(tmp_path_factory: pytest.TempPathFactory) -> Tuned:
    return tune(
        helpers.train, helpers.SPACE, goal="min", budget=8, out=tmp_path_factory.mktemp("tuned") / "bo", progress=False
    )


def test_best_is_lowest_where_lower_is_better(tuned: Tuned) -> None:
    scores = [e.metrics["score"] for e in tuned]
    assert tuned.best_score == tuned.best.metrics["score"] == -tuned.best.reward == min(scores)
    assert tuned.best in tuned.evaluations
    assert len(repr(tuned)) < 300
    assert f"score {min(scores):.6g}" in repr(tuned)
    assert "<table" in tuned._repr_html_()


def test_a_frame_has_a_row_for_each_evaluation(tuned: Tuned) -> None:
    frame = tuned.to_frame()
    assert len(frame) == 8
    assert {"number", "status", "x", "kind", "depth", "score", "cost", "seconds", "incumbent", "error"} <= {*frame}
    assert frame["incumbent"].tolist() == frame["score"].cummin().tolist()


def test_frame_keeps_names_apart() -> None:
    def returned(config: Any) -> dict[str, float]:
        return {"seconds": -1.0, "x": 7.0, "status": 3.0, "else": 4.0}

    space = {"x": (0.0, 1.0), "number": (5.0, 6.0)}
    tuned = tune(returned, space, objective="seconds", agent="random", budget=2, progress=False)
    frame = tuned.to_frame()
    assert (frame["number"].tolist(), frame["status"].tolist()) == ([0, 1], ["ok", "ok"])
    assert (frame["seconds"] > 0).all()
    for name in ("x", "config.number"):
        assert frame[name].tolist() == [e.config[name.removeprefix("config.")] for e in tuned]
    assert frame[["metrics.x", "metrics.status", "metrics.seconds", "else"]].to_numpy().tolist() == [[7, 3, -1, 4]] * 2
    pytest.importorskip("matplotlib").use("Agg")
    assert tuned.plot().lines[0].get_ydata().tolist() == [-1.0, -1.0]


def test_the_search_is_plotted(tuned: Tuned) -> None:
    pytest.importorskip("matplotlib").use("Agg")
    empty = Tuned(tuned.header, ())
    assert (len(empty.to_frame()), "<table" in empty._repr_html_(), len(empty.plot().lines)) == (0, True, 1)
    with pytest.raises(ValueError, match="an evaluation must have succeeded, got 0"):
        _ = Tuned(tuned.header | {"objectives": ["a", "b"]}, ()).recommended
    axes = tuned.plot()
    axes.figure.draw_without_rendering()
    assert (axes.get_xlabel(), axes.get_ylabel(), len(axes.lines)) == ("evaluations", "score", 2)


def charts_of(text: str) -> Any:
    packed = re.findall(r'<script type="application/gzip" id="data">(.*?)</script>', text)[0]
    return json.loads(gzip.decompress(base64.b64decode(packed)))["charts"]


def test_page_has_best_configuration_first(tuned: Tuned, cli: Any) -> None:
    assert tuned.folder is not None
    assert f"page: {tuned.folder / 'report.html'}" in cli(["report", str(tuned.folder)])
    text = (tuned.folder / "report.html").read_text(encoding="utf-8")
    shown = re.findall(r"<pre><code>(.*?)</code></pre>", text, re.DOTALL)
    assert ast.literal_eval(html.unescape(shown[0])) == tuned.best_config
    assert f"load({str(tuned.folder)!r})" in html.unescape(shown[-1])
    titles = re.findall(r"<h2[^>]*>(.*?)</h2>", text)
    assert [title.partition(":")[0] for title in titles] == [
        "Best", "Score against evaluations", "What mattered", "Configurations", "Timeline", "Evaluations",
        "Failures", "Load it",
    ]  # fmt: skip
    charts = charts_of(text)
    assert set(re.findall('data-chart="(.*?)"', text)) == {*charts} == {"curve-0", "parallel", "slices", "timeline"}
    assert charts["curve-0"][0]["series"]["best so far"][0] == tuned.to_frame()["incumbent"].tolist()
    both = [*(e.config for e in tuned), tuned.recommended.config]  # whose mean is a point, too
    assert [len(c["x"]) for c in charts["slices"]] == [sum(name in config for config in both) for name in helpers.SPACE]
    assert len(charts["parallel"][0]["series"]) == 8
    assert tuned.report(tuned.folder / "mine.html").read_text(encoding="utf-8") == text
    with pytest.raises(ValueError, match="--title, --paper and --summary must be left out for a search"):
        report.run(argparse.Namespace(runs=tuned.folder, title="x", paper=None, summary=None, out=None, live=False))


def test_loaded_search_is_what_tune_returned(tuned: Tuned) -> None:
    assert tuned.folder is not None
    again = hpo_envs.load(str(tuned.folder))
    assert (again.header, again.evaluations) == (tuned.header, tuned.evaluations)
    assert again.best_config == tuned.best.config
    assert again.pareto == [e for e in tuned if e.rewards == tuned.best.rewards]
    assert len(repr(tuned.best)) < 120
    with pytest.raises(FileNotFoundError, match="folder must hold evaluations.journal"):
        hpo_envs.load(tuned.folder / "none")


def test_commands_accept_search(tuned: Tuned, cli: Any) -> None:
    found = json.loads(cli(["importance", str(tuned.folder), "--json"]))
    assert (found["metric"], found["runs"]) == ("score", 8)
    assert {record["what"] for record in found["main"]} <= {"x", "kind", "depth"}
    facts = json.loads(cli(["describe", str(tuned.folder), "--json"]))
    assert [*facts][:2] == ["best", "metrics"]
    assert (facts["best"], facts["evaluations"], facts["failed"]) == (tuned.best_config, 8, 0)
    assert cli(["describe", str(tuned.folder)]).startswith("best        {")


def test_numbers_that_are_few_or_say_little(tmp_path: Path, cli: Any) -> None:
    given: dict[str, Any] = {"agent": "random", "progress": False, "out": tmp_path}
    tune(lambda config: hash(config["x"]) % 7, {"x": (0.0, 1.0), "unused": [None, 1]}, budget=20, **given)
    assert "do not rely on these shares" in cli(["importance", str(tmp_path)])
    assert re.search("^workers +1$", cli(["describe", str(tmp_path)]), re.MULTILINE)
    assert "<td>None</td>" in hpo_envs.load(tmp_path).report().read_text(encoding="utf-8")


def test_importance_of_many_evaluations_is_from_sample(tmp_path: Path) -> None:
    tuned = tune(lambda c: c["x"] - c["y"], {"x": (0.0, 1.0), "y": (0, 9.0)}, budget=300, agent="random", out=tmp_path)
    page = tuned.report().read_text(encoding="utf-8")
    assert "From 256 of the 300 successes, drawn at random." in page
    assert re.search(r'scope="row">y</th><td[^>]*>0\.9', page)


def test_page_and_result_of_running_search(tmp_path: Path, cli: Any) -> None:
    tune(helpers.train, helpers.SPACE, agent="random", budget=2, progress=False, out=tmp_path)
    journal = tmp_path / NAME
    journal.write_bytes(b"".join(journal.read_bytes().splitlines(keepends=True)[:-1]))
    assert "train by random, 0 without a score, 1 running;" in repr(hpo_envs.load(tmp_path))
    left = hpo_envs.load(tmp_path)
    for e in left:
        e.started -= 1e6  # days ago
    (chart,) = charts_of(page.render(left))["timeline"]
    assert [bar[3] for bar in chart["bars"]] == ["evaluations", "running"]
    assert 0.0 < chart["x"][1] < 100.0
    assert "source must be a search with at least two scores of different configurations, got 1 " in cli(
        ["importance", str(tmp_path)], 2
    )


def test_failures_and_fronts_are_on_page(tmp_path: Path, cli: Any) -> None:
    def both(config: Any) -> dict[str, float]:
        if config["x"] > 0.8:
            raise MemoryError("<out of memory>")
        return {"a": config["x"], "b": 1.0 - config["x"] ** 2}

    points = [{"x": 0.9, "kind": "bad"}, {"x": 0.5, "kind": "bad"}]
    given: dict[str, Any] = {"objective": ("a", "b"), "points": points, "budget": 5, "out": tmp_path}
    tuned = tune(both, helpers.SPACE, goal="max", progress=False, **given)
    text = tuned.report().read_text(encoding="utf-8")
    assert '<h2 id="answer">Pareto front</h2>' in text
    failed = sum(e.rewards is None for e in tuned)
    charts = charts_of(text)
    for place in ("curve-0", "curve-1", "slices"):  # at the worst score shown
        series = charts[place][0]["series"]
        (at,) = {v for v in series["failed"][0] if v is not None}
        assert at == min(v for v in series["evaluations"][0] if v is not None)
        assert sum(v is not None for v in series["failed"][0]) == failed
    assert [v for v in charts["pareto"][0]["series"]["Pareto front"][0] if v is not None] == sorted(
        (e.metrics["b"] for e in tuned.pareto), reverse=True
    )
    assert f"{failed} × MemoryError: &lt;out of memory&gt; (" in text
    assert len(tuned.pareto) == 5 - failed  # a gain in a is a loss in b
    with pytest.raises(ValueError, match="best must be of a search with one objective, got a, b: use .pareto"):
        _ = tuned.best
    assert f"{5 - failed} on the Pareto front" in repr(tuned)
    facts = json.loads(cli(["describe", str(tmp_path), "--json"]))
    assert (facts["best"], facts["pareto"]) == (None, 5 - failed)


def test_page_shows_evaluation_with_one_finite_objective_of_two() -> None:
    def one(config: Any) -> dict[str, float]:
        return {"a": config["x"], "b": np.nan if config["x"] > 0.5 else 1.0}

    tuned = tune(one, {"x": (0.0, 1.0)}, objective=("a", "b"), agent="random", budget=6, progress=False)
    assert {e.status for e in tuned} == {"ok", "diverged"}
    assert len(charts_of(page.render(tuned))["parallel"][0]["series"]) == 6


def test_learning_curves_and_epochs_are_on_page() -> None:
    tuned = tune(helpers.epochs, helpers.SPACE, epochs=9, budget=60, progress=False)
    text = page.render(tuned)
    series = charts_of(text)["trainings"][0]["series"]
    assert len(series) == len(tuned)
    for e in tuned:
        assert [v for v in series[repr(e)[1:-1]][0] if v is not None] == [score for _, score in e.curve]
    stopped = sum(e.status == "truncated" for e in tuned)
    assert f"{stopped} trainings stopped early" in text
    assert "epoch</" in text


def test_shares_of_importance_have_intervals() -> None:
    rng = np.random.default_rng(0)
    x = rng.random((40, 2))
    axes = [forest_importance.Dimension("x"), forest_importance.Dimension("y")]
    low, high = forest_importance.intervals(x, x[:, 0] + 0.1 * rng.random(40), axes)
    assert low[0] > high[1]
    assert (low <= high).all()


@pytest.mark.hostile
def test_texts_that_are_no_utf_8(tmp_path: Path) -> None:
    def odd(config: Any) -> dict[str, float]:
        if config["x"] < 0.5:
            raise ValueError("lone \ud800")
        return {"score": config["x"], "also \ud800": 1.0}

    out = tmp_path / "folder \udcff"
    tuned = tune(odd, {"x": (0.0, 1.0)}, agent="random", budget=6, progress=False, out=out)
    assert [name for name in tuned.to_frame() if name.startswith("also")] == ["also \\ud800"]
    assert "lone \\ud800" in max(tuned.to_frame().error)
    tuned.plot()
    tuned._repr_html_().encode()
    assert main(["report", str(out)]) == 0
    assert "folder \\udcff" in (out / "report.html").read_text(encoding="utf-8")


def test_nothing_succeeded(tmp_path: Path) -> None:
    failed = tune(lambda config: 1 / 0, helpers.SPACE, budget=2, progress=False)
    with pytest.raises(ValueError, match="succeeded, got 2 that did not, the last with ZeroDivisionError"):
        _ = failed.best
    assert "2 without a score" in repr(failed)
    with pytest.raises(ValueError, match="path must be given for a search that is in no folder"):
        failed.report()
    assert "No evaluation succeeded yet" in failed.report(tmp_path / "failed.html").read_text(encoding="utf-8")
    assert failed.to_frame()["incumbent"].isna().all()


def same(a: Any, b: Any) -> bool:
    return repr(a) == repr(b)


class Layer:
    """A choice that JSON cannot represent."""


CHOICES = {
    "hidden": [(64,), (64, 64), None, True, "x", 0.5, (1, (2.5, None)), float("inf")], "layer": [Layer, same],
    "on": [True, False, None], "x": (0.0, 1.0), "width": [16, 32],
}  # fmt: skip


@pytest.mark.parametrize("agent", ["auto", "random"])
def test_best_config_is_what_function_received(agent: str, tmp_path: Path) -> None:
    received: list[dict[str, Any]] = []

    def train(config: dict[str, Any]) -> float:
        received.append(config)
        return float(len(received))

    points = (
        [{"hidden": (1, (2.5, None)), "layer": Layer, "on": None, "x": 1 / 3, "width": 16}] if agent == "auto" else []
    )
    given: Any = {"agent": agent, "budget": 12, "out": tmp_path / "out", "progress": False, "points": points}
    found = tune(train, CHOICES, **given)
    assert [repr(e.config) for e in found] == [*map(repr, received)]
    assert same(found.best_config, received[-1])
    assert len({repr(c["hidden"]) for c in received}) > 3
    # Read from the disk, where classes and functions are texts.
    texts = {Layer: str(Layer), same: f"{__name__}:same"}
    for e, config in zip(hpo_envs.load(tmp_path / "out"), received, strict=True):
        assert same(e.config, {**config, "layer": texts[config["layer"]]})
    more = tune(train, CHOICES, **{**given, "budget": 13})
    assert [repr(e.config) for e in more] == [*map(repr, received)]
    assert "layer" in more.report(tmp_path / "page.html").read_text(encoding="utf-8")
    assert same(more.recommended.config.keys(), received[0].keys())
    assert main(["describe", str(tmp_path / "out")]) == 0


@pytest.mark.parametrize("choices", [[object(), 1], [lambda: 1, lambda: 2], [Layer(), Layer()]])
def test_choices_that_cannot_be_told_apart_on_disk_are_refused(choices: Any) -> None:
    space = {"x": (0.0, 1.0), "act": choices}
    rejects("choices of act must differ as texts, and have the same", tune, lambda config: 0.0, space, budget=2)
