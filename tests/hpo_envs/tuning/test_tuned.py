"""What a search has found: the best, a frame, a picture, a page."""

from __future__ import annotations

from pathlib import Path

import pytest

from hpo_envs.commands.main import main
from hpo_envs.tuning import Tuned, tune
from tests.hpo_envs.tuning import helpers


@pytest.fixture(scope="module")
def tuned(tmp_path_factory: pytest.TempPathFactory) -> Tuned:
    return tune(
        helpers.train, helpers.SPACE, goal="min", budget=8, out=tmp_path_factory.mktemp("tuned") / "bo", progress=False
    )


def test_the_best_is_the_lowest_where_lower_is_better(tuned: Tuned) -> None:
    scores = [e.metrics["score"] for e in tuned]
    assert tuned.best.metrics["score"] == min(scores)
    assert tuned.best in tuned.evaluations
    assert len(repr(tuned)) < 300
    assert f"score {min(scores):.6g}" in repr(tuned)
    assert "<table" in tuned._repr_html_()


def test_a_row_an_evaluation(tuned: Tuned) -> None:
    frame = tuned.to_frame()
    assert len(frame) == 8
    assert {"number", "status", "x", "kind", "depth", "score", "cost", "seconds", "incumbent", "error"} <= {*frame}
    assert frame["incumbent"].tolist() == frame["score"].cummin().tolist()


def test_a_picture(tuned: Tuned) -> None:
    pytest.importorskip("matplotlib").use("Agg")
    axes = tuned.plot()
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("evaluations", "score")
    assert len(axes.lines) == 2


def test_a_page(tuned: Tuned, capsys: pytest.CaptureFixture[str]) -> None:
    assert tuned.folder is not None
    assert main(["report", str(tuned.folder)]) == 0
    assert "FunctionHPO: Only auto (box-bo) ran" in capsys.readouterr().out
    assert "FunctionHPO-v0" in (tuned.folder / "report.html").read_text(encoding="utf-8")
    assert len(Tuned.load(Path(tuned.folder))) == 8
    assert tuned.report() == tuned.folder / "report.html"
    assert "FunctionHPO-v0" in tuned.report(tuned.folder / "mine.html").read_text(encoding="utf-8")


def test_nothing_succeeded() -> None:
    failed = tune(lambda config: 1 / 0, helpers.SPACE, budget=2, progress=False)
    with pytest.raises(ValueError, match=r"an evaluation must have succeeded, got 2 that did not: .*ZeroDivisionError"):
        _ = failed.best
    assert "2 without a score" in repr(failed)
    with pytest.raises(ValueError, match="a search must be in a folder and have a success to be reported"):
        failed.report()
    assert failed.to_frame()["incumbent"].isna().all()
