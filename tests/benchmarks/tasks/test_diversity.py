"""Diversity of tasks: correlations, noise, effective numbers and spaces of small tables with known answers."""

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hpo_envs.benchmarks.tasks import diversity
from hpo_envs.benchmarks.tasks.pools import scores as scores_of
from hpo_envs.tables.table import Hyperparameter, Metric, Provenance, Table, searched

ROWS = 60
X = np.random.default_rng(0).random((ROWS, 2))


def table(name: str, scores: np.ndarray, configs: np.ndarray = X, names: tuple[str, str] = ("a", "b")) -> Table:
    """Scores of (rows, repeats)."""
    space = tuple(Hyperparameter(n, "float", 0.0, 1.0) for n in names)
    values = scores[:, :, None, None]
    return Table(
        f"made/{name}", tuple(map(str, range(len(values)))), (Metric("score", "", "max", -9.0, 9.0),), values,
        np.ones(values.shape[:3]), Provenance("measured", "me/made", "0" * 40, "CC0", "me"), **searched(space, configs),
    )  # fmt: skip


def test_effective_number_is_between_one_and_all() -> None:
    assert (diversity.effective(np.eye(4)), diversity.effective(np.ones((4, 4)))) == (4, 1)
    assert diversity.effective(np.array([[1, 0.5], [0.5, 1]])) == pytest.approx(1.6)


def test_reliability_is_that_of_the_mean_and_unknown_of_one_run() -> None:
    rng = np.random.default_rng(1)
    signal = rng.normal(size=(4000, 1))
    noisy = signal + rng.normal(size=(4000, 2))  # half of the variance of a run is noise, a third of that of a mean
    assert diversity.reliability(noisy) == pytest.approx(2 / 3, abs=0.03)
    assert np.isnan(diversity.reliability(signal))


def test_spaces_are_of_tables_with_the_same_configurations_in_any_order() -> None:
    turned = np.arange(ROWS)[::-1]
    tables = [
        table("one", X[:, :1]),
        table("same", X[turned, :1], X[turned]),
        table("opposite", -X[:, :1]),
        table("elsewhere", X[:, :1], X / 2),
        table("other names", X[:, :1], names=("a", "c")),
    ]
    (space,) = diversity.spaces(tables)
    assert space.tables == ("made/one", "made/same", "made/opposite")
    assert space.correlation == pytest.approx(np.array([[1, 1, -1], [1, 1, -1], [-1, -1, 1]]))
    assert (space.importance[:, 0] > 0.8).all()
    assert (space.configurations, diversity.different(space).all()) == (ROWS, True)


def test_a_failed_run_counts_as_the_worst() -> None:
    made = table("one", X[:, :1])
    status = np.zeros((ROWS, 1), np.uint8)
    status[np.argmax(X[:, 0])] = 1
    failed = dataclasses.replace(made, status=status, provenance=dataclasses.replace(made.provenance, sha256=""))
    scores = scores_of(failed, failed.metric_names[0])[:, 0]
    assert (scores.argmin(), scores.min()) == (np.argmax(X[:, 0]), -9.0)


def test_noise_of_repeats_is_taken_out() -> None:
    rng = np.random.default_rng(2)
    tables = [table(n, X[:, :1] + rng.normal(scale=0.3, size=(ROWS, 2))) for n in ("one", "two")]
    (space,) = diversity.spaces(tables)
    assert space.correlation[0, 1] < 0.85 < space.corrected[0, 1] <= 1.0
    assert diversity.effective(space.corrected) < diversity.effective(space.correlation)


def test_the_command_prints_and_draws_what_ships(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: Any) -> None:
    pytest.importorskip("matplotlib")
    names = ("charmini/eng-lstm", "charmini/hun-lstm", "charmini/jpn-lstm")
    assert {*names, "taskset/gru128"} <= {*diversity.shipped()}
    assert not {"cushlepor/ted-zhen", "nmthpo/zhen-grid", "steplaw/215m-4b"} & {*diversity.shipped()}
    monkeypatch.setattr(diversity, "shipped", lambda: names)
    diversity.main(["--out", str(tmp_path)])
    said = capsys.readouterr().out
    assert "| charmini: lstm | 3 | 64 | 0.9" in said
    assert "| one group |" in said
    assert (tmp_path / "diversity.png").stat().st_size > 10_000
