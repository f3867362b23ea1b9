"""Laws of every table, and tables that break them."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

from hpo_envs.tables import catalogue, store
from hpo_envs.tables.table import Hyperparameter, Metric, Provenance, Table, feature_matrix
from hpo_envs.testing import TABLE_RULES, check_table

SOURCE = Provenance("surrogate", "nobody/nothing", "0" * 40, "none", "none")


@pytest.mark.parametrize("rule", TABLE_RULES)
@pytest.mark.parametrize("name", [name for name in store.names() if not store.missing(name)])
def test_every_table_keeps(name: str, rule: str) -> None:
    table = store.load(name)
    assert (table.name, table.provenance.kind == "surrogate") == (name, store.synthetic(name))
    check_table(table, rules=[rule])


def tiny(**changes: Any) -> Table:
    base: dict[str, Any] = {
        "name": "tests/tiny",
        "keys": ("a", "b", "c"),
        "metrics": (Metric("score", "", "max", 0.0, 1.0), Metric("loss", "", "min", 0.0, 9.0)),
        "values": np.arange(24, dtype=float).reshape(3, 2, 2, 2),
        "cost": np.tile([1.0, 2.0], (3, 2, 1)),
        "levels": np.array([1.0, 2.0]),
        "provenance": SOURCE,
        "feature_names": ("x",),
        "features": np.array([[0.0], [0.5], [1.0]]),
    }
    return Table(**{**base, **changes})


def nan_at(*index: int) -> np.ndarray:
    values = np.arange(24, dtype=float).reshape(3, 2, 2, 2)
    values[index] = np.nan
    return values


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"keys": ()}, "at least one row"),
        ({"keys": ("a", "a", "b")}, "keys must be unique"),
        ({"values": np.zeros((3, 2, 2))}, "values must be"),
        ({"values": np.zeros((3, 2, 3, 2))}, "values must be"),
        ({"cost": np.zeros((3, 2, 1))}, "cost must be"),
        ({"cost": np.tile([2.0, 1.0], (3, 2, 1))}, "cost must not decrease"),
        ({"cost": np.full((3, 2, 2), -1.0)}, "cost must be >= 0"),
        ({"cost": np.full((3, 2, 2), np.nan)}, "cost must be known"),
        ({"cost": np.full((3, 2, 2), np.inf)}, "cost must be finite"),
        ({"values": nan_at(0, 0, 0)}, "trailing along levels"),
        ({"values": nan_at(1, 0)}, "trailing along repeats"),
        ({"values": np.full((3, 2, 2, 2), np.inf)}, "values must be finite"),
        ({"features": np.array([[0.0], [2.0], [1.0]])}, r"features must lie in \[0, 1\]"),
        ({"features": np.array([[0.0], [np.nan], [1.0]])}, r"features must lie in \[0, 1\]"),
        ({"features": np.zeros((2, 1))}, "features must be"),
        ({"levels": np.array([2.0, 1.0])}, "levels must be"),
        ({"status": np.full((3, 2), 9, np.uint8)}, "status must index"),
        ({"metrics": (Metric("s", "", "max", 0, 1), Metric("s", "", "max", 0, 1))}, "metric names must be unique"),
        ({"metrics": (Metric("s", "", "max", 0, np.inf), Metric("t", "", "max", 0, 1))}, "bounds of s must be finite"),
        ({"provenance": dataclasses.replace(SOURCE, sha256="0" * 64)}, "provenance.sha256 must be the hash"),
        ({"space": (Hyperparameter("h", "int", 0, 1),), "configs": np.array([[np.nan]] * 3)}, "configs must be finite"),
    ],
)
def test_teeth_lawless_tables_are_refused(changes: dict[str, Any], message: str) -> None:
    tiny()
    with pytest.raises(ValueError, match=f"table tests/tiny: .*{message}"):
        tiny(**changes)


def test_trailing_nan_is_lawful() -> None:
    values = nan_at(0, 1)
    values[2, 0, 1] = np.nan
    assert tiny(values=values).final("score").tolist() == [2.0, 12.0, (16.0 + 22.0) / 2]


def test_arrays_are_private_and_read_only() -> None:
    values = np.arange(24, dtype=float).reshape(3, 2, 2, 2)
    t = tiny(values=values)
    values[:] = -1
    assert t.values[0, 0, 0, 0] == 0.0
    for name in ("values", "cost", "features", "levels", "configs", "status"):
        with pytest.raises(ValueError, match="read-only"):
            getattr(t, name)[...] = 0


def test_hash_covers_the_content_only() -> None:
    one, two = tiny(), tiny()
    assert one.provenance.sha256 == two.provenance.sha256
    for changes in (
        {"values": nan_at(2, 1, 1)},
        {"keys": ("a", "b", "d")},
        {"cost": np.tile([1.0, 2.5], (3, 2, 1))},
        {"provenance": dataclasses.replace(SOURCE, kind="measured")},
        {"features": np.array([[0.0], [0.25], [1.0]])},
    ):
        assert tiny(**changes).provenance.sha256 != one.provenance.sha256
    assert (
        tiny(values=np.arange(24.0).reshape(3, 2, 2, 2) * -0.0 + 0).provenance.sha256
        == tiny(values=np.zeros((3, 2, 2, 2))).provenance.sha256
    )


def test_rows_metrics_and_subsets() -> None:
    t = tiny()
    assert t.row("b") == 1
    assert t.metric("loss") == 1
    with pytest.raises(KeyError, match="key must be a row"):
        t.row("z")
    with pytest.raises(ValueError, match="metric must be one of score, loss in table tests/tiny, got 'los', did you"):
        t.metric("los")
    part = t.subset([2, 0])
    assert part.keys == ("c", "a")
    assert np.array_equal(part.values, t.values[[2, 0]])
    assert part.provenance.sha256 != t.provenance.sha256


def test_scales() -> None:
    lr = Hyperparameter("lr", "float", 1e-4, 1e-2, log=True)
    assert np.allclose(lr.scale([1e-4, 1e-3, 1e-2]), [0, 0.5, 1])
    conditional = Hyperparameter("warmup", "int", 10, 20, condition=("scheduler", ("warmup",)))
    assert conditional.scale([0, 10, 20]).tolist() == [0, 0, 1]
    optimizer = Hyperparameter("optimizer", "categorical", 0, 1, values=("adam", "sgd"))
    names, features = feature_matrix((optimizer, lr), np.array([[0, 1e-4], [1, 1e-2]]))
    assert names == ("optimizer=adam", "optimizer=sgd", "lr")
    assert features.tolist() == [[1, 0, 0], [0, 1, 1]]
    assert optimizer.natural(1.0) == "sgd"
    assert lr.natural(1e-3) == 1e-3
    assert conditional.natural(12.0) == 12


def test_catalogue_is_complete() -> None:
    for f in catalogue.files().values():
        assert len(f.commit) == 40
        assert f.licence
        assert f.repository.count("/") == 1
    for name in store.names():
        for file in store._files(name):
            assert file in catalogue.files()
    with pytest.raises(ValueError, match="dataset must be one of .*, got 'nmthp', did you mean 'nmthpo'"):
        catalogue.dataset("nmthp")


def test_unknown_tables() -> None:
    with pytest.raises(ValueError, match="dataset must be one of"):
        store.load("nothing/at-all")
    with pytest.raises(ValueError, match="table must be one of .*, got 'nmthpo/swem', did you mean 'nmthpo/swen'"):
        store.load("nmthpo/swem")
