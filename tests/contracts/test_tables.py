"""Laws of every table, and tables that break them."""

from typing import Any

import numpy as np
import pytest

from hpo_envs.tables import catalogue, store
from hpo_envs.tables.table import Metric, Provenance, Table
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


def test_arrays_are_private_and_read_only() -> None:
    values = np.arange(24, dtype=float).reshape(3, 2, 2, 2)
    t = tiny(values=values)
    values[:] = -1
    assert t.values[0, 0, 0, 0] == 0.0
    for name in ("values", "cost", "features", "levels", "configs", "status"):
        with pytest.raises(ValueError, match="read-only"):
            getattr(t, name)[...] = 0


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
