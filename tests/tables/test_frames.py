"""Tables as frames: nothing measured is left out, nothing else is in; what is inactive is missing."""

import numpy as np
import pytest

from hpo_envs.tables import frames, store
from hpo_envs.tables.table import STATUSES, Hyperparameter, Table
from tests.hpo_envs.core.engines.lookup.model import tiny

SPACE = (
    Hyperparameter("optimizer", "categorical", 0, 1, values=("sgd", "adam")),
    Hyperparameter("momentum", "float", 0.0, 0.9, condition=("optimizer", ("sgd",))),
    Hyperparameter("nesterov", "int", 0, 1, condition=("momentum", (0.5,))),
)


def test_hyperparameters_count_where_their_condition_and_those_of_their_parents_hold() -> None:
    raw = np.array([[0.0, 0.5, 1.0], [0.0, 0.9, 0.0], [1.0, 0.5, 1.0]])
    assert frames.active(SPACE, raw).tolist() == [[True, True, True], [True, True, False], [True, False, False]]
    assert frames.config_columns(SPACE, raw) == {
        "optimizer": ["sgd", "sgd", "adam"],
        "momentum": [0.5, 0.9, None],
        "nesterov": [1, None, None],
    }


def test_hyperparameters_called_as_another_column_are_distinguished() -> None:
    assert [*frames.config_columns(SPACE[:1], np.zeros((1, 1)), taken=("optimizer",))] == ["config.optimizer"]


def test_frame_has_each_measurement_and_each_failed_run_once() -> None:
    table = tiny()
    frame = table.to_frame()
    expected = ~np.isnan(table.cost)
    assert not expected[5, 1].any()
    expected[5, 1, 0] = True  # failed before anything was measured
    at = np.nonzero(expected)
    assert len(frame) == len(at[0])
    assert frame["status"].tolist() == [STATUSES[code] for code in table.status[at[:2]]]
    assert frame["key"].tolist() == [table.keys[i] for i in at[0]]
    assert frame["repeat"].tolist() == at[1].tolist()
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
