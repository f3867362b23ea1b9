"""Tables: invariants and their errors, hashes, access, defaults, scales."""

import dataclasses
import itertools
from typing import Any

import numpy as np
import pytest

from hpo_envs.tables import store
from hpo_envs.tables import table as tables
from hpo_envs.tables.table import ByHash, Hyperparameter, Metric, Provenance, Table
from tests.helpers import raises, rejects
from tests.hpo_envs.core.engines.lookup.model import METRICS, SINGLE, SPACE, tiny

NAN = float("nan")
SOURCE = Provenance("surrogate", "nobody/nothing", "0" * 40, "none", "none")


def broken(**changes: Any) -> Any:
    return lambda: tiny(**changes)


def nan_at(*index: int) -> np.ndarray:
    values = tiny().values.copy()
    values[index] = NAN
    return values


NO_ROWS = {
    "values": np.zeros((0, 2, 2, 2)), "cost": np.zeros((0, 2, 2)), "configs": np.zeros((0, 2)),
    "features": np.zeros((0, 4)), "status": np.zeros((0, 2)),
}  # fmt: skip
LAWS: list[tuple[Any, str]] = [
    (broken(keys=(), **NO_ROWS), "must have at least one row, got 0"),
    (broken(keys=("a", "a", "c", "d", "e", "f")), "keys must be unique"),
    (broken(values=np.zeros((6, 2, 2))), "values must be (rows, repeats, levels, metrics), got (6, 2, 2)"),
    (broken(values=np.zeros((6, 2, 3, 2))), "values must be (6, 2, 2, 2), got (6, 2, 3, 2)"),
    (broken(values=np.zeros((6, 2, 2, 3))), "values must be (6, 2, 2, 2), got (6, 2, 2, 3)"),
    (broken(values=np.zeros((5, 2, 2, 2))), "values must be (6, 2, 2, 2), got (5, 2, 2, 2)"),
    (broken(cost=np.ones((6, 2, 1))), "cost must be (6, 2, 2), got (6, 2, 1)"),
    (broken(status=np.zeros((6, 1), np.uint8)), "status must be (6, 2), got (6, 1)"),
    (broken(status=np.full((6, 2), 4, np.uint8)), "status must index ('ok', 'failed', 'diverged', 'truncated'), got 4"),
    (broken(configs=np.ones((6, 3))), "configs must be (6, 2), got (6, 3)"),
    (broken(features=np.ones((6, 1))), "features must be (6, 4), got (6, 1)"),
    (broken(configs=np.full((6, 2), np.inf)), "configs must be finite"),
    (broken(features=np.full((6, 4), 1.01)), "features must lie in [0, 1]"),
    (broken(features=np.full((6, 4), -0.01)), "features must lie in [0, 1]"),
    (broken(levels=np.array([2.0, 2.0])), "levels must be finite and increasing, got [2.0, 2.0]"),
    (broken(levels=np.array([1.0, np.inf])), "levels must be finite and increasing, got [1.0, inf]"),
    (broken(metrics=(METRICS[0], METRICS[0])), "metric names must be unique, got ('score', 'score')"),
    (
        broken(metrics=(METRICS[0], Metric("m", "", "max", 1.0, 1.0))),
        "bounds of m must be low < high, up to 1e+30, got 1 to 1",
    ),
    (
        broken(metrics=(METRICS[0], Metric("m", "", "max", -np.inf, 1.0))),
        "bounds of m must be low < high, up to 1e+30, got -inf to 1",
    ),
    (broken(values=np.full((6, 2, 2, 2), -np.inf)), "values must be NaN or from -1e+30 to 1e+30, got larger ones"),
    (broken(values=np.full((6, 2, 2, 2), 1.1e30)), "values must be NaN or from -1e+30 to 1e+30, got larger ones"),
    (broken(cost=np.full((6, 2, 2), np.inf)), "cost must be finite or NaN, got inf"),
    (broken(cost=np.full((6, 2, 2), -1e-9)), "cost must be >= 0, got a negative one"),
    (broken(values=nan_at(0, 1, 0, 1)), "NaN must be trailing along levels, never inside"),
    (broken(values=nan_at(0, 0)), "NaN must be trailing along repeats, never inside"),
    (broken(cost=np.full((6, 2, 2), NAN)), "cost must be known where a value is"),
    (broken(cost=np.tile([2.0, 1.0], (6, 2, 1))), "cost must not decrease along levels"),
]  # fmt: skip


@pytest.mark.parametrize(("make", "message"), LAWS, ids=lambda p: p if isinstance(p, str) else "")
def test_words_of_laws(make: Any, message: str) -> None:
    with raises(f"table toy/one: {message}"):
        make()


def test_what_just_obeys_laws() -> None:
    one = tiny()
    assert one.subset([0]).keys == ("a",)
    tiny(cost=np.zeros((6, 2, 2)))
    tiny(cost=np.full((6, 2, 2), 3.0))
    tiny(features=np.tile([0.0, 1.0], (6, 2)))
    tiny(status=np.full((6, 2), 3, np.uint8))
    mixed = one.values.copy()
    mixed[0, 0, 1, 1] = NAN  # one metric may stop before another
    tiny(values=mixed)


def test_holes_anywhere_break_laws() -> None:
    """Not only at the first level or repeat."""
    whole: dict[str, Any] = {
        "values": np.ones((6, 3, 3, 2)), "cost": np.ones((6, 3, 3)), "status": np.zeros((6, 3)),
        "levels": np.arange(1.0, 4.0),
    }  # fmt: skip
    tiny(**whole)
    for hole, axis in (((2, 0, 1), "levels"), ((2, 1), "repeats")):
        values = whole["values"].copy()
        values[hole] = NAN
        with raises(f"table toy/one: NaN must be trailing along {axis}, never inside"):
            tiny(**{**whole, "values": values})
    cost = whole["cost"].copy()
    cost[3, 1, 2] = 0.5
    with raises("table toy/one: cost must not decrease along levels"):
        tiny(**{**whole, "cost": cost})


def test_table_owns_its_arrays() -> None:
    values, cost, status = np.ones((6, 2, 2, 2)), np.ones((6, 2, 2), int), np.zeros((6, 2), int)
    table = tiny(values=values, cost=cost, status=status, levels=np.array([1, 2]))
    for given, kept in ((values, table.values), (cost, table.cost), (status, table.status)):
        assert given.flags.writeable
        assert not np.shares_memory(given, kept)
    assert (table.cost.dtype, table.levels.dtype, table.status.dtype) == (np.float64, np.float64, np.uint8)
    assert table.provenance.sha256 == tiny(values=values, cost=cost * 1.0, status=status).provenance.sha256
    values.setflags(write=False)  # by whoever made it: nothing to copy
    assert tiny(values=values, cost=cost, status=status).values is values


def test_hashes_are_these() -> None:
    """Results identify tables by their hash, which must never change and must depend on the whole content."""
    one = tiny()
    assert one.provenance.sha256 == "69327c743dca35aa1dbcfbb9b5e87d08e8eb14ece65c61c378225facc863b7a8"
    assert SINGLE.provenance.sha256 == "e75e2eff6853b22ea16351bf0f262b3c1e153e65e2019441a0adedb79800aebf"
    assert tiny(provenance=one.provenance).provenance == one.provenance
    with raises(
        f"table toy/one: provenance.sha256 must be the hash of the content, {one.provenance.sha256}, got {'0' * 64}"
    ):
        tiny(provenance=dataclasses.replace(SOURCE, sha256="0" * 64))
    other_nan = one.values.copy()
    other_nan[np.isnan(other_nan)] = -NAN
    assert tiny(values=other_nan).provenance.sha256 == one.provenance.sha256
    choices = (SPACE[0], dataclasses.replace(SPACE[1], values=(np.int64(1), np.int64(2), "none")))
    assert tiny(space=choices).provenance.sha256 not in ("", one.provenance.sha256)
    minus = one.cost.copy()
    minus[0] = -0.0
    plus = one.cost.copy()
    plus[0] = 0.0
    assert tiny(cost=minus).provenance.sha256 == tiny(cost=plus).provenance.sha256 != one.provenance.sha256
    changes: list[dict[str, Any]] = [
        {"name": "toy/two"}, {"keys": tuple("abcdeg")}, {"cost_unit": "min"}, {"level_unit": "epochs"},
        {"levels": np.array([1.0, 3.0])}, {"status": np.zeros((6, 2))}, {"features": one.features * 0.5},
        {"configs": one.configs + 1}, {"feature_names": ("a", "b", "c", "d")},
        {"metrics": (METRICS[0], dataclasses.replace(METRICS[1], high=101.0))},
        {"space": (SPACE[1], SPACE[0])}, {"provenance": dataclasses.replace(SOURCE, kind="measured")},
    ]  # fmt: skip
    assert len({tiny(**c).provenance.sha256 for c in changes} | {one.provenance.sha256}) == len(changes) + 1
    silent = dataclasses.replace(SOURCE, notes=("a note",), citation="x", licence="y", upstream="z", commit="1" * 40)
    assert tiny(provenance=silent).provenance.sha256 == one.provenance.sha256


def test_what_table_answers() -> None:
    one = tiny()
    assert (len(one), one.repeats) == (6, 2)
    assert type(one.repeats) is int
    assert (one.metric_names, one.config(4)) == (("score", "seconds"), {"layers": 2, "optimizer": "sgd"})
    assert type(one.config(4)["layers"]) is int
    first, last = one.values[3, 0, 1, 0], one.values[3, 1, 0, 0]
    assert (one.final("score")[3], one.final("score")[5]) == ((first + last) / 2, one.values[5, 0, 1, 0])
    assert one.final("score").dtype == np.float64
    unmeasured = dataclasses.replace(SINGLE, provenance=SOURCE)
    assert np.isnan(unmeasured.final("score")[5])
    with raises("metric must be one of score, seconds in table toy/one, got 'scores', did you mean 'score'?"):
        one.metric("scores")
    with raises("metric must be one of score, seconds in table toy/one, got 'zzzz'"):
        one.metric("zzzz")
    with pytest.raises(KeyError) as error:
        one.row("zz")
    assert error.value.args == ("key must be a row of table toy/one, got 'zz'",)
    with pytest.raises(KeyError) as error:
        one.row("aa")
    assert error.value.args == ("key must be a row of table toy/one, got 'aa', did you mean 'a'?",)
    assert [one.row(k) for k in "abcdef"] == list(range(6))
    with raises("table toy/one: must have at least one row, got 0"):
        one.subset([])
    part = one.subset([4, 1], "toy/part")
    assert (part.name, part.keys, one.subset([1]).name) == ("toy/part", ("e", "b"), "toy/one")
    for field in ("values", "cost", "configs", "features", "status"):
        assert np.array_equal(getattr(part, field), getattr(one, field)[[4, 1]], equal_nan=field != "status")
    assert part.provenance.sha256 != one.provenance.sha256
    assert (METRICS[0].sign, METRICS[1].sign, METRICS[0].worst, METRICS[1].worst) == (1.0, -1.0, 0.0, 100.0)


def test_defaults_of_table() -> None:
    values = np.ones((2, 3, 1, 1))
    t = Table("toy/bare", ("a", "b"), METRICS[:1], values, np.ones((2, 3, 1)), SOURCE)
    assert (t.configs.shape, t.features.shape, t.status.tolist()) == ((2, 0), (2, 0), [[0, 0, 0]] * 2)
    assert (t.status.dtype, t.levels.tolist()) == (np.uint8, [1.0])
    assert (t.cost_unit, t.level_unit) == ("evaluations", "full training")
    for name in ("values", "cost", "configs", "features", "levels"):
        array = getattr(t, name)
        assert array.dtype == np.float64
        assert array.flags.c_contiguous
        assert not array.flags.writeable
    fortran = Table("toy/bare", ("a", "b"), METRICS[:1], np.asfortranarray(values), np.ones((2, 3, 1), int), SOURCE)
    assert fortran.provenance.sha256 == t.provenance.sha256
    assert fortran.values.flags.c_contiguous
    zeros = Table("toy/zeros", ("a",), METRICS[:1], values[:1], values[:1, ..., 0], SOURCE, space=SPACE[:1])
    assert zeros.configs.tolist() == [[0.0]]


def test_scales() -> None:
    h = Hyperparameter("h", "float", 10.0, 1000.0, log=True)
    assert h.scale([10.0, 100.0, 1000.0, 9.9, 1000.1, 0.0]).tolist() == pytest.approx([0, 0.5, 1, 0, 0, 0])
    assert h.scale(["100"])[0] == pytest.approx(0.5)
    linear = Hyperparameter("h", "int", 2, 4)
    assert (linear.scale([2, 3, 4, 1, 5]).tolist(), linear.scale(3).shape) == ([0, 0.5, 1, 0, 0], ())
    assert (Hyperparameter("h", "int", 2, 2).scale([2, 3]).tolist(), linear.natural(3.0)) == ([0, 0], 3)
    zero = Hyperparameter("h", "int", 0.0, 100.0, True, (0, 10, 100))
    assert zero.scale([0, 10, 100]).tolist() == pytest.approx([0, 0.5, 1])
    for low, values in ((0.0, ()), (0.0, (0, 100)), (-1.0, (-1, 10, 100))):
        rejects(f"0 < low <= high, got {low:g} to 100", Hyperparameter, "h", "int", low, 100.0, True, values)
    assert type(linear.natural(3.0)) is int
    assert type(h.natural(100)) is float
    assert SPACE[1].natural(2.0) == "none"
    names, features = tables.feature_matrix(SPACE, np.array([[1.0, 0.0], [2.0, 2.0]]))
    assert names == ("layers", "optimizer=adam", "optimizer=sgd", "optimizer=none")
    assert (features.tolist(), features.dtype) == ([[0, 1, 0, 0], [1, 0, 0, 1]], np.float64)
    assert tables.feature_matrix((), np.zeros((3, 0)))[1].shape == (3, 0)


def test_equal_content_from_another_source_is_another_key() -> None:
    table = store.load("fiesta/gaussian")
    other = dataclasses.replace(table, provenance=dataclasses.replace(table.provenance, notes=("another",)))
    assert ByHash(table) == ByHash(dataclasses.replace(table))
    assert hash(ByHash(table)) == hash(ByHash(dataclasses.replace(table)))
    assert ByHash(table) != ByHash(other)
    assert ByHash(table) != table


def test_configuration_is_found_by_its_values() -> None:
    table = store.load("nmthpo/swen")
    for row in (0, 100, 766):
        assert table.index_of(table.config(row)) == row
    measured = {tuple(table.config(row).values()) for row in range(len(table))}
    names = [h.name for h in table.space]
    missing = next(c for c in itertools.product(*(h.values for h in table.space)) if c not in measured)
    with pytest.raises(ValueError, match="measured with the values before it, got .*, the nearest is "):
        table.index_of(dict(zip(names, missing, strict=True)))
    config = table.config(0)
    for wrong, message in (
        ({"bpe": 9000}, "bpe must be one of 1000, 2000, 4000, 8000, 16000, 32000, got 9000"),
        ({"bpe": "a"}, "bpe must be one of 1000, .*, got 'a'"),
        ({"lr": 1}, "hyperparameter of table nmthpo/swen must be one of bpe, .*, got 'lr'"),
    ):
        rejects(message, table.index_of, config | wrong)
    del config["heads"]
    rejects("config must have heads, got bpe, layers", table.index_of, config)


def test_configurations_with_conditions_and_choices_are_found() -> None:
    table = store.load("charhpo/g2p-dut-transformer")
    for row in range(0, len(table), 17):
        assert table.index_of(table.config(row)) == row
    cells = store.load("nasbenchnlp/wikitext2")
    assert cells.index_of({"key": cells.keys[9]}) == 9
    assert len(cells.graph(9)) > 3
    with raises(f"rows of {table.name} must be cells with a recipe, got {table.keys[0]!r}"):
        table.graph(0)
    rejects("key must be one of the keys of table nasbenchnlp/wikitext2, got None", cells.index_of, {})
