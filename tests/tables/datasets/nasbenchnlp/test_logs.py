"""Logs of cells' trainings and their archives."""

import io
import json
import math
import zipfile
from typing import Any

import numpy as np
import pytest

from hpo_envs.tables import catalogue, cells, store
from hpo_envs.tables.cells.recipe import EXAMPLES
from hpo_envs.tables.datasets import nasbenchnlp as names
from hpo_envs.tables.datasets.nasbenchnlp import MULTI, SINGLE
from hpo_envs.tables.datasets.nasbenchnlp import build as builder
from hpo_envs.tables.datasets.nasbenchnlp.logs import CURVES, read_log
from hpo_envs.tables.table import STATUSES
from tests.helpers import needs_upstream, rejects


def zipped(**members: bytes | str) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as z:
        for name, content in members.items():
            z.writestr(name, content)
    return stream.getvalue()


def log(**changes: Any) -> dict[str, Any]:
    """A log of the released form, three epochs long."""
    data = {
        "recepie_id": 1000000, "experiment_id": 7, "init_time": "2020-04-28_17-16-54",
        "recepie": EXAMPLES["RNN"].to_json(), "num_params": 15066078, "wall_times": [3.0, 2.0, 2.0],
        "train_losses": [7.0, 6.0, 5.5], "val_losses": [7.1, 6.1, 5.6], "test_losses": [7.2, 6.2, 5.7], "status": "OK",
    }  # fmt: skip
    return data | changes


def test_log_is_read() -> None:
    run = read_log(json.dumps(log()).encode(), "x.json")
    assert run.losses.tolist() == [[7.1, 7.2, 7.0], [6.1, 6.2, 6.0], [5.6, 5.7, 5.5]]
    assert run.seconds.tolist() == [3.0, 2.0, 2.0]
    assert not run.diverged


def test_log_is_read_as_its_writer_made_it() -> None:
    """Upstream's training script writes its arguments with the curves; a recipe is a JSON string or an object."""
    recipe = EXAMPLES["RNN"].to_json()
    written = {"data": "data/ptb", **names.TRAINING, **log(train_losses=[7.0, 6.0, math.nan])}
    forms = [json.dumps(recipe) if not isinstance(recipe, str) else recipe, recipe]
    forms[1] = json.loads(forms[0])
    quoted, unquoted = (read_log(json.dumps(written | {"recepie": form}).encode(), "x.json") for form in forms)
    assert isinstance(forms[0], str)
    assert isinstance(forms[1], dict)
    assert quoted.cell == unquoted.cell == EXAMPLES["RNN"]
    assert quoted.diverged
    assert np.array_equal(quoted.losses, unquoted.losses, equal_nan=True)
    assert isinstance(unquoted.recipe, str)
    doubly = json.dumps(written | {"recepie": json.dumps(forms[0])}).encode()
    rejects("must be an object with one entry per node, got str", read_log, doubly, "x.json")


@needs_upstream
def test_all_logs_have_settings_of_training() -> None:
    with zipfile.ZipFile(io.BytesIO(store.read(names.LOGS))) as archive:
        members = [m for m in archive.namelist() if m.endswith(".json") and "/." not in m]
        for member in members:
            data = json.loads(archive.read(member))
            assert {name: data[name] for name in names.TRAINING} == names.TRAINING, member


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"train_losses": [7.0, math.inf, 5.0]}, "finite or NaN"),
        ({"train_losses": [7.0, math.nan, 5.0]}, "only the last epoch"),
        ({"wall_times": [1.0, -1.0, 1.0]}, "seconds >= 0"),
        ({"wall_times": [1.0]}, "as long as"),
        ({"val_losses": []}, "inhomogeneous"),
        ({n: [1.0] * 51 for n in CURVES} | {"wall_times": [1.0] * 51}, "1 to 50"),
        ({"recepie": "{}"}, "1 to 24 nodes"),
    ],
)
def test_bad_logs_are_rejected(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message) as error:
        read_log(json.dumps(log(**changes)).encode(), "logs.zip: bad.json")
    assert "bad.json" in str(error.value)


def released(*groups: int) -> dict[int, Any]:
    return {g: np.full(10, 0.1 * i) for i, g in enumerate(groups)}


def run(architecture: int, experiment: int, **changes: Any) -> str:
    return json.dumps(log(recepie_id=architecture, experiment_id=experiment, **changes))


def build(single: dict[str, str], multi: dict[str, str], *groups: int) -> Any:
    archives = {SINGLE: zipped(**single), MULTI: zipped(**multi)}
    return builder.build_curves(archives, released(*groups), rows=len(groups))


def test_curves_join_both_archives_by_group() -> None:
    lstm = cells.EXAMPLES["LSTM"].to_json()
    single = {
        "train_logs_single_run/a.json": run(1000003, 1),
        "train_logs_single_run/b.json": run(2000000, 2, recepie=lstm, train_losses=[7.0, 6.0, math.nan]),
        "__MACOSX/._a.json": "junk",
    }
    # The first is the same run again, the next are other seeds of it; the last has no row.
    multi = {"a.json": run(1000003, 1), "b.json": run(1004003, 4), "c.json": run(1002003, 3), "d.json": run(2000009, 5)}
    table = build(single, multi, 1000003, 2000000, 2000001)
    assert (table.keys, table.values.shape) == (("1000003", "2000000", "2000001"), (3, 3, 50, 4))
    assert (~np.isnan(table.cost[:, :, 0])).sum(axis=1).tolist() == [3, 1, 1]
    assert (table.values[0, 0, :3, 0].tolist(), table.cost[0, 0, :3].tolist()) == ([7.1, 6.1, 5.6], [3.0, 5.0, 7.0])
    assert [STATUSES[s] for s in table.status[:, 0]] == ["truncated", "diverged", "failed"]
    assert (np.isnan(table.values[1, 0, 2]).tolist(), table.cost[2, 0, 0]) == ([False, False, True, False], 0.0)
    assert np.array_equal(table.features[1, :50], cells.embed([cells.EXAMPLES["LSTM"]])[0])
    assert "1 rows have no log, 1 runs have no row" in table.provenance.notes[0]


def test_at_most_three_runs_of_row() -> None:
    multi = {f"{i}.json": run(1000003 + 2000 * (i % 3), i) for i in range(5)}
    table = build({"x.json": run(2000000, 9)}, multi, 1000003, 2000000)
    assert (~np.isnan(table.cost[:, :, 0])).sum(axis=1).tolist() == [3, 1]


def test_too_many_bad_logs_are_error() -> None:
    with pytest.raises(ValueError, match=r"at most 1% of the logs may be unacceptable, got 1: .*b\.json"):
        build({"a.json": run(2000000, 1), "b.json": "{}"}, {"c.json": run(2000000, 2)}, 2000000)
    rejects("must have 2 architectures, got 1", builder.build_curves, {}, released(5), rows=2)


def test_cycle_in_log_is_named() -> None:
    bad = json.dumps({"h_new_0": {"op": "linear", "input": ["x", "h_prev_0", "h_new_0"]}})
    with pytest.raises(ValueError, match=r"a\.json: recipe must have no cycle"):
        build({"a.json": run(2000000, 1, recepie=bad), "b.json": run(1, 1)}, {"c.json": run(2, 2)}, 2000000)


def test_large_files_are_data_set_of_their_own() -> None:
    records = [f for f in catalogue.files().values() if f.dataset == "nasbenchnlp-ptb-logs"]
    assert (len(records), sum(f.sha256.startswith("gitblob:") for f in records)) == (4, 3)
