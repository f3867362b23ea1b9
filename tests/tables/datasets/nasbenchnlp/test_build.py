"""NAS-Bench-NLP tables: every number of the logs, kept tables, hostile archives."""

from __future__ import annotations

import hashlib
import io
import json
import math
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hpo_envs.tables import store
from hpo_envs.tables.cells.canonical import key
from hpo_envs.tables.cells.recipe import EXAMPLES, Cell, parse
from hpo_envs.tables.cells.size import VOCABULARY, parameters
from hpo_envs.tables.datasets.nasbenchnlp import build as nasbenchnlp
from hpo_envs.tables.datasets.nasbenchnlp.logs import read_archive, read_log
from hpo_envs.tables.files import cache, zips
from hpo_envs.tables.table import STATUSES, Table

WT2 = "nasbenchnlp/wikitext2"


def zipped(**members: bytes | str) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as z:
        for name, content in members.items():
            z.writestr(name, content)
    return stream.getvalue()


def log(**changes: Any) -> dict[str, Any]:
    """A log of the released form, three epochs long."""
    data = {
        "recepie_id": 1000000,
        "experiment_id": 7,
        "init_time": "2020-04-28_17-16-54",
        "recepie": EXAMPLES["RNN"].to_json(),
        "num_params": 15066078,
        "wall_times": [3.0, 2.0, 2.0],
        "train_losses": [7.0, 6.0, 5.5],
        "val_losses": [7.1, 6.1, 5.6],
        "test_losses": [7.2, 6.2, 5.7],
        "status": "OK",
    }
    return data | changes


# ------------------------------------------------------------------------------------------------- measured


@pytest.mark.measured
def test_every_epoch_of_every_run_equals_the_file() -> None:
    table = store.load(WT2, "measured")
    content = store.read(nasbenchnlp.LOGS)
    with zipfile.ZipFile(io.BytesIO(content)) as z:
        raw = [json.loads(z.read(n)) for n in z.namelist()]
    assert len(raw) == 345
    by_recipe: dict[str, list[dict[str, Any]]] = {}
    for r in raw:
        by_recipe.setdefault(r["recepie"], []).append(r)
    assert len(by_recipe) == len(table) == 291
    seen = 0
    for recipe, runs in by_recipe.items():
        k = key(parse(recipe))
        rows = [i for i, name in enumerate(table.keys) if name.split("#")[0] == k]
        for run in runs:
            stacked = np.array([run["val_losses"], run["test_losses"], run["train_losses"]]).T
            found = 0
            for i in rows:
                for r in range(table.repeats):
                    end = int((~np.isnan(table.cost[i, r])).sum())
                    same = end == len(stacked) and np.array_equal(table.values[i, r, :end, :3], stacked, equal_nan=True)
                    if same and np.array_equal(table.cost[i, r, :end], np.cumsum(run["wall_times"])):
                        found += 1
                        assert (table.values[i, r, :end, 3] == run["num_params"]).all()
                        assert STATUSES[table.status[i, r]] == ("ok" if run["status"] == "OK" else "diverged")
            assert found == 1
            seen += found
    assert seen == 345
    assert (~np.isnan(table.cost[:, :, 0])).sum() == 345
    assert len({k.split("#")[0] for k in table.keys}) == 265


@pytest.mark.measured
def test_parameter_counts_equal_the_measured_ones() -> None:
    logs = read_archive(store.read(nasbenchnlp.LOGS), "logs.zip")
    assert [parameters(run.cell, VOCABULARY["wikitext2"]) for run in logs] == [run.parameters for run in logs]


@pytest.mark.measured
def test_released_features_are_joined_by_group() -> None:
    table = store.load(WT2, "measured")
    assert table.features[:, -1].sum() == 274
    assert nasbenchnlp.group(1002003) == nasbenchnlp.group(1004003) == 1000003
    assert nasbenchnlp.group(1006003) == nasbenchnlp.group(1010003) == 1006003
    assert nasbenchnlp.group(1012738) == 1012003
    assert nasbenchnlp.group(2004071) == 2004071
    assert nasbenchnlp.group(1000001) == 1000001


@pytest.mark.measured
def test_published_perplexities_of_conventional_cells() -> None:
    table = store.load(WT2, "measured")
    rows = {name: table.row(key(cell)) for name, cell in EXAMPLES.items()}
    test = table.values[..., table.metric("test_loss")]
    assert np.nanmin(test[rows["LSTM"]]) == pytest.approx(4.516, abs=2e-3)
    assert np.nanmin(test) == np.nanmin(test[rows["LSTM"]])


@pytest.mark.measured
def test_kept_table_is_the_built_one_and_needs_no_building(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HPO_ENVS_CACHE", str(tmp_path))
    store._measured.cache_clear()
    first = store.load(WT2, "measured")
    (file,) = tmp_path.iterdir()
    store._measured.cache_clear()
    monkeypatch.setattr(store._builder("nasbenchnlp"), "build", None)  # the kept table needs no builder
    again = store.load(WT2, "measured")
    monkeypatch.undo()
    monkeypatch.setenv("HPO_ENVS_CACHE", str(tmp_path))
    assert again is not first
    assert_equal(again, first)
    # A damaged file is not believed, nor one whose numbers were changed under a valid zip.
    content = file.read_bytes()
    file.write_bytes(content[: len(content) // 2])
    store._measured.cache_clear()
    assert_equal(store.load(WT2, "measured"), first)
    with np.load(io.BytesIO(content[32:])) as data:  # the first 32 bytes are the hash of the others
        arrays = {k: data[k].copy() for k in data.files}
    arrays["values"][0] += 1.0
    changed = io.BytesIO()
    np.savez(changed, **arrays)
    file.write_bytes(hashlib.sha256(changed.getvalue()).digest() + changed.getvalue())
    store._measured.cache_clear()
    assert_equal(store.load(WT2, "measured"), first)


def assert_equal(a: Table, b: Table) -> None:
    assert a.provenance == b.provenance
    assert a.keys == b.keys
    assert np.array_equal(a.values, b.values, equal_nan=True)
    assert np.array_equal(a.cost, b.cost, equal_nan=True)


def test_cache_folder_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    monkeypatch.setenv("HPO_ENVS_CACHE", str(blocked / "below"))
    table = store.load(WT2, "surrogate")
    assert cache.load("nasbenchnlp/x", 1, (), tmp_path, lambda: table) is table


def test_pack_and_unpack_are_inverse() -> None:
    table = store.load(WT2, "surrogate")
    again = cache.unpack(cache.pack(table))
    assert_equal(again, table)
    assert again.space == table.space
    assert again.metrics == table.metrics


# ------------------------------------------------------------------------------------------------- embedded


def test_embedded_table_has_the_measured_shape() -> None:
    table = store.load(WT2, "surrogate")
    assert table.values.shape == (291, 3, 50, 4)
    assert table.features.shape == (291, 61)
    assert (~np.isnan(table.cost[:, :, 0])).sum(axis=0).tolist() == [291, 49, 5]
    assert [table.row(key(c)) for c in EXAMPLES.values()] == [0, 1, 2]
    cells = [Cell.from_text(k) for k in table.keys]
    size = table.values[:, 0, 0, table.metric("parameters")]
    assert size.tolist() == [parameters(c, VOCABULARY["wikitext2"]) for c in cells]


@pytest.mark.measured
def test_embedded_table_resembles_the_measured_one() -> None:
    e, m = (store.load(WT2, kind) for kind in ("surrogate", "measured"))
    assert e.feature_names == m.feature_names
    for q in (5, 25, 50, 75, 95):
        a, b = (np.nanpercentile(t.final("test_loss"), q) for t in (e, m))
        assert abs(a - b) < 0.4
    shared = {k.split("#")[0] for k in m.keys} & set(e.keys)
    for k in shared:
        assert abs(e.final("test_loss")[e.row(k)] - m.final("test_loss")[m.row(k)]) > 1e-4 or math.isnan(
            m.final("test_loss")[m.row(k)]
        )


# ------------------------------------------------------------------------------------------------- hostile files


def test_a_log_is_read() -> None:
    run = read_log(json.dumps(log()).encode(), "x.json")
    assert run.losses.tolist() == [[7.1, 7.2, 7.0], [6.1, 6.2, 6.0], [5.6, 5.7, 5.5]]
    assert run.seconds.tolist() == [3.0, 2.0, 2.0]
    assert not run.diverged


def test_a_literal_nan_means_divergence() -> None:
    text = json.dumps(log(train_losses=[7.0, 6.0, math.nan]))
    assert "NaN" in text
    run = read_log(text.encode(), "x.json")
    assert run.diverged
    assert np.isnan(run.losses[2, 2])


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"train_losses": [7.0, math.inf, 5.0]}, "finite or NaN"),
        ({"train_losses": [7.0, math.nan, 5.0]}, "only the last epoch"),
        ({"train_losses": [7.0, 6.0]}, "as long as"),
        ({"wall_times": [1.0, -1.0, 1.0]}, "seconds >= 0"),
        ({"wall_times": [1.0]}, "as long as"),
        ({"val_losses": []}, "1 to 50 numbers"),
        ({"val_losses": [1.0] * 51}, "1 to 50 numbers"),
        ({"val_losses": ["7", 1.0, 1.0]}, "numbers only"),
        ({"val_losses": [10**400, 1.0, 1.0]}, "finite or NaN"),
        ({"recepie_id": "1"}, "recepie_id must be of type int"),
        ({"num_params": True}, "num_params must be of type int"),
        ({"recepie": {"a": 1}}, "recepie must be of type str"),
        ({"recepie": "{}"}, "1 to 24 nodes"),
    ],
)
def test_bad_logs_are_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message) as error:
        read_log(json.dumps(log(**changes)).encode(), "logs.zip: bad.json")
    assert "bad.json" in str(error.value)


@pytest.mark.parametrize("content", [b"", b"[1, 2]", b"\xff\xfe", b"{", b"[" * 100_000, b'"x"'])
def test_text_that_is_no_log(content: bytes) -> None:
    with pytest.raises(ValueError, match=r"x\.json: must be"):
        read_log(content, "x.json")


@pytest.mark.parametrize("name", ["../x.json", "/etc/x.json", "a/../../x.json", "C:/x.json", "..\\x.json"])
def test_member_outside_the_archive(name: str) -> None:
    with pytest.raises(ValueError, match="must stay inside"):
        list(zips.members(zipped(**{name: "{}"}), "a.zip", ".json"))


def test_bombs_and_damage(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ValueError, match="compression ratio"):
        list(zips.members(zipped(**{"x.json": b"0" * 1_000_000}), "a.zip", ".json"))
    with pytest.raises(ValueError, match="must be a zip"):
        list(zips.members(b"PK no", "a.zip", ".json"))
    good = zipped(**{"x.json": json.dumps(log())})
    with pytest.raises(ValueError, match="must be a zip"):
        list(zips.members(good[:-30], "a.zip", ".json"))
    # Bytes of the compressed stream changed or cut, directory intact.
    start = good.index(b"x.json") + len("x.json")
    broken = good[: start + 5] + bytes(20) + good[start + 25 :]
    with pytest.raises(ValueError, match="damaged or truncated"):
        list(zips.members(broken, "a.zip", ".json"))
    monkeypatch.setattr(zips, "MAX_MEMBERS", 1)
    with pytest.raises(ValueError, match="at most 1 members"):
        list(zips.members(zipped(**{"x.json": "{}", "y.json": "{}"}), "a.zip", ".json"))


def test_a_member_larger_than_its_header_says() -> None:
    content = bytearray(zipped(**{"x.json": json.dumps(log())}))
    directory = content.rindex(b"PK\x01\x02")
    content[directory + 24 : directory + 28] = (10).to_bytes(4, "little")
    with pytest.raises(ValueError, match="must have 10 bytes|damaged"):
        list(zips.members(bytes(content), "a.zip", ".json"))


def test_an_archive_without_logs() -> None:
    with pytest.raises(ValueError, match="must contain training logs"):
        read_archive(zipped(**{"readme.txt": "x"}), "a.zip")
