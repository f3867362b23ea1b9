"""Tables as frames, and the stored order of their rows."""

import dataclasses
import itertools

import numpy as np
import pytest

from hpo_envs.tables import frames, store
from hpo_envs.tables.datasets.nmthpo import PAIRS
from hpo_envs.tables.datasets.nmthpo import build as nmthpo
from hpo_envs.tables.table import STATUSES, Hyperparameter, Metric, Provenance, Table, active
from tests.helpers import needs_upstream, raises
from tests.hpo_envs.core.engines.lookup.model import tiny

SPACE = (
    Hyperparameter("optimizer", "categorical", 0, 1, values=("sgd", "adam")),
    Hyperparameter("momentum", "float", 0.0, 0.9, condition=("optimizer", ("sgd",))),
    Hyperparameter("nesterov", "int", 0, 1, condition=("momentum", (0.5,))),
)


def test_hyperparameters_count_where_their_condition_and_those_of_their_parents_hold() -> None:
    raw = np.array([[0.0, 0.5, 1.0], [0.0, 0.9, 0.0], [1.0, 0.5, 1.0]])
    assert active(SPACE, raw).tolist() == [[True, True, True], [True, True, False], [True, False, False]]
    assert frames.config_columns(SPACE, raw, active(SPACE, raw)) == {
        "optimizer": ["sgd", "sgd", "adam"],
        "momentum": [0.5, 0.9, None],
        "nesterov": [1, None, None],
    }


def test_columns_of_one_name_are_distinguished() -> None:
    space = tuple(Hyperparameter(name, "int", 0, 3) for name in ("cost", "loss"))
    metrics, values = tuple(Metric(h.name, "", "max", 0.0, 9.0) for h in space), np.array([[[[3.0, 4.0]]]])
    source = Provenance("measured", "", "", "", "")
    table = Table("a/b", ("row",), metrics, values, values[..., 1], source, space=space, configs=np.array([[1, 2]]))
    config, measured = {"config.cost": 1, "config.loss": 2}, {"metrics.cost": 3.0, "loss": 4.0}
    assert table.to_frame().iloc[0].to_dict() == {"key": "row"} | config | measured | {"cost": 4.0, "status": "ok"}


def test_frame_has_each_measurement_and_each_failed_run_once() -> None:
    table = tiny()
    frame = table.to_frame()
    expected = ~np.isnan(table.cost)
    assert not expected[5, 1].any()
    expected[5, 1, 0] = True  # failed before anything was measured
    at = np.nonzero(expected)
    assert (len(frame), frame["status"].tolist()) == (len(at[0]), [STATUSES[code] for code in table.status[at[:2]]])
    assert (frame["key"].tolist(), frame["repeat"].tolist()) == ([table.keys[i] for i in at[0]], at[1].tolist())
    assert frame["level"].tolist() == table.levels[at[2]].tolist()
    for j, name in enumerate(table.metric_names):
        np.testing.assert_array_equal(frame[name], table.values[at][:, j])
    np.testing.assert_array_equal(frame["cost"], table.cost[at])
    assert {h.name for h in table.space} <= {*frame}


@pytest.mark.parametrize("name", ["nmthpo/swen", "charhpo/g2p-geo-lstm", "fiesta/ner", "nmtlc/ft-fren"])
def test_tables_are_shown_in_few_words(name: str) -> None:
    table = store.load(name)
    assert repr(table).startswith(f"<Table {name} (measured): rows {len(table)}, ")
    assert len(repr(table)) < 300
    shown = table._repr_html_()
    assert table.keys[0] in shown
    assert len(shown) < 20_000


def test_frame_of_one_level_and_one_repeat_has_no_columns_for_them() -> None:
    table: Table = store.load("nmthpo/zhen")
    frame = table.to_frame()
    assert len(frame) == len(table)
    assert not {"repeat", "level"} & {*frame}
    assert frame.loc[3, [h.name for h in table.space]].tolist() == [*table.config(3).values()]
    np.testing.assert_array_equal(frame["bleu"], table.final("bleu"))


def test_facts_are_escaped() -> None:
    assert "<script>" not in frames.facts("<script>", {"<script>": "<script>"})


def test_of_many_metrics_six_are_named() -> None:
    six, seven = store.load("nmthpo/swen"), store.load("charmini/eng-lstm")
    assert (len(six.metrics), len(seven.metrics)) == (6, 7)
    assert f"metrics {', '.join(six.metric_names)}, cost in updates>" in repr(six)
    assert f"metrics {', '.join(seven.metric_names[:6])}, ..., cost in s>" in repr(seven)


def test_rows_move_whole_and_say_where_they_stood() -> None:
    table = tiny()
    kept = frames.hashed(table)
    assert sorted(kept.keys) == sorted(table.keys)
    assert kept.keys != table.keys
    for row, key in enumerate(kept.keys):
        at = int(kept.source_index[row])
        assert table.keys[at] == key
        for array in ("values", "cost", "configs", "features", "status"):
            np.testing.assert_array_equal(getattr(kept, array)[row], getattr(table, array)[at])


def test_order_is_hash_of_name_and_keys_and_of_nothing_else() -> None:
    table = tiny()
    kept = frames.hashed(table)
    assert frames.hashed(tiny(shift=1.0)).keys == kept.keys, "nothing measured"
    assert frames.hashed(table.subset([5, 3, 1, 0, 2, 4])).keys == kept.keys, "no other order"
    assert frames.hashed(kept).source_index.tolist() == kept.source_index.tolist()
    others = [frames.hashed(dataclasses.replace(table, name=f"toy/{i}", provenance=_fresh(table))) for i in range(9)]
    assert len({t.keys for t in others}) == 9, "another table has another order"


def _fresh(table: Table) -> Provenance:
    return dataclasses.replace(table.provenance, sha256="")


def test_natural_is_grids_order_and_elsewhere_sources() -> None:
    for name in ("nmthpo/swen", "nmtlc/swen"):
        table = frames.natural(store.load(name))
        configs = [tuple(c) for c in table.configs.tolist()]
        assert configs == sorted(configs)
    runs = frames.natural(store.load("nmtlc/swen"))
    numbers = [int(key.partition("#")[2]) for key in runs.keys]
    assert all(b in (1, a + 1) for a, b in itertools.pairwise(numbers)), "runs of a configuration in order"
    for name in ("charhpo/g2p-dut-lstm", "fiesta/gaussian", "nasbenchnlp/wikitext2"):
        table = store.load(name)
        assert table.source_index.tolist() != sorted(table.source_index)
        assert frames.natural(table).source_index.tolist() == list(range(len(table)))


@needs_upstream
@pytest.mark.parametrize("name", [n for n in nmthpo.NAMES if not n.endswith("-grid")])
def test_source_index_is_line_of_file(name: str) -> None:
    table = store.load(name)
    lines = np.loadtxt(store.data_folder() / f"nmthpo/datasets/{PAIRS[name.partition('/')[2]]}.hyps")
    assert (lines[table.source_index] == table.configs).all()


@pytest.mark.parametrize("positions", [[0, 1, 2, 3, 4, 4], [-1, 1, 2, 3, 4, 5]])
def test_positions_are_unique_and_not_negative(positions: list[int]) -> None:
    with raises("table toy/one: source_index must be unique and >= 0"):
        tiny(source_index=np.array(positions))
    with raises("table toy/one: source_index must be (6,), got (5,)"):
        tiny(source_index=np.arange(5))
