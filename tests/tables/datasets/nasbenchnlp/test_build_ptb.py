"""PTB tables: final losses, and the builder of curves on archives of the released form."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hpo_envs.tables import catalogue, cells, store
from hpo_envs.tables.datasets.nasbenchnlp import build as nasbenchnlp
from hpo_envs.tables.datasets.nasbenchnlp import build_ptb as nasbenchnlp_ptb
from hpo_envs.tables.files import cache, zips
from hpo_envs.tables.table import STATUSES
from tests.tables.datasets.nasbenchnlp.test_build import log, zipped

FINAL, CURVES = nasbenchnlp_ptb.PTB_FINAL, nasbenchnlp_ptb.PTB


# ------------------------------------------------------------------------------------------------ final losses


@pytest.mark.measured
def test_final_losses_are_those_of_the_file() -> None:
    table = store.load(FINAL, "measured")
    losses = nasbenchnlp_ptb.read_final(store.read(nasbenchnlp_ptb.PARAMETERS), "f")
    assert len(losses) == 12_341
    assert sum(not math.isnan(v) for v, _ in losses.values()) == 10_032
    assert table.values.shape == (4114, 3, 1, 2)
    # Another file of the release lists a part of them, all finite.
    lines = store.read("nasbenchnlp-ptb/data/RNN_results.csv").decode("utf-8-sig").splitlines()[1:]
    for line in lines:
        name, loss = line.split(",")[:2]
        assert losses[int(name.split("_")[3])][0] == float(loss)
    assert len(lines) == 8_794
    found: dict[int, list[float]] = {}
    for i, (v, _) in sorted(losses.items()):
        found.setdefault(nasbenchnlp.group(i), []).append(v)
    assert len(found) == 4_244
    for row, name in enumerate(table.keys):
        of_row = table.values[row, : len(found[int(name)]), 0, 0]
        assert np.array_equal(of_row, found[int(name)], equal_nan=True)
        expected = ["diverged" if math.isnan(v) else "ok" for v in found[int(name)]]
        assert [STATUSES[s] for s in table.status[row, : len(expected)]] == expected
    assert np.nanmin(table.values[..., 0]) == pytest.approx(4.4287, abs=1e-4)


GOOD = "log_stats_model_1000075_2020-04-14_18-43-13_999.json,4.98,146.0,7.19,9174800,9174800"


def test_quirks_of_the_file_of_final_losses() -> None:
    glued = GOOD.replace("1000075", "1000076") + "log name,loss,perplexity,trainable paramters,total paramters"
    again = "log_stats_model_1000075_2020-04-14_18-43-13_999.json,nan,nan,nan,nan,nan"
    text = "\n".join(["log name,loss", GOOD, glued, again, "nonsense,1,2,3,4,5", "log name,loss"])
    assert nasbenchnlp_ptb.read_final(text.encode(), "f") == {1000075: (4.98, 9174800.0), 1000076: (4.98, 9174800.0)}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (GOOD + "\n" + GOOD.replace("4.98", "4.97"), "line 2: id 1000075 must have one loss, got 4.98 and 4.97"),
        (GOOD.replace("4.98", "abc"), "line 1: must have numbers"),
        (GOOD.replace("9174800", "nan"), "every id must have parameters"),
        ("", "every id must have parameters, got 0 ids"),
    ],
)
def test_bad_files_of_final_losses(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        nasbenchnlp_ptb.read_final(text.encode(), "f")


@pytest.mark.measured
def test_embedded_final_losses_resemble_the_measured_ones() -> None:
    e, m = (store.load(FINAL, kind) for kind in ("surrogate", "measured"))
    assert e.values.shape == m.values.shape
    assert e.feature_names == m.feature_names
    assert np.array_equal(np.bincount((~np.isnan(e.cost)).sum((1, 2))), np.bincount((~np.isnan(m.cost)).sum((1, 2))))
    a, b = e.final("test_loss"), m.final("test_loss")
    assert abs(np.isnan(a).mean() - np.isnan(b).mean()) < 0.05
    for q in (5, 50, 95):
        assert abs(np.nanpercentile(a, q) - np.nanpercentile(b, q)) < 0.2
    rows = {r.tobytes() for r in m.values}
    assert not any(r.tobytes() in rows for r in e.values if not np.isnan(r[..., 0]).any())


# ------------------------------------------------------------------------------------------------ full logs


def released(*groups: int) -> dict[int, Any]:
    return {g: np.full(10, 0.1 * i) for i, g in enumerate(groups)}


def run(architecture: int, experiment: int, **changes: Any) -> str:
    return json.dumps(log(recepie_id=architecture, experiment_id=experiment, **changes))


def build(single: dict[str, str], multi: dict[str, str], *groups: int) -> Any:
    archives = {nasbenchnlp_ptb.SINGLE: zipped(**single), nasbenchnlp_ptb.MULTI: zipped(**multi)}
    return nasbenchnlp_ptb.build_curves(archives, released(*groups), rows=len(groups))


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
    assert table.keys == ("1000003", "2000000", "2000001")
    assert table.values.shape == (3, 3, 50, 4)
    assert (~np.isnan(table.cost[:, :, 0])).sum(axis=1).tolist() == [3, 1, 1]
    assert table.values[0, 0, :3, 0].tolist() == [7.1, 6.1, 5.6]
    assert table.cost[0, 0, :3].tolist() == [3.0, 5.0, 7.0]
    assert [STATUSES[s] for s in table.status[:, 0]] == ["truncated", "diverged", "failed"]
    assert np.isnan(table.values[1, 0, 2]).tolist() == [False, False, True, False]
    assert table.cost[2, 0, 0] == 0.0
    assert np.array_equal(table.features[1, :50], cells.embed([cells.EXAMPLES["LSTM"]])[0])
    assert "1 rows have no log, 1 runs have no row" in table.provenance.notes[0]
    assert cache.unpack(cache.pack(table)).provenance == table.provenance


def test_at_most_three_runs_of_a_row() -> None:
    multi = {f"{i}.json": run(1000003 + 2000 * (i % 3), i) for i in range(5)}
    table = build({"x.json": run(2000000, 9)}, multi, 1000003, 2000000)
    assert (~np.isnan(table.cost[:, :, 0])).sum(axis=1).tolist() == [3, 1]


def test_too_many_bad_logs_are_an_error() -> None:
    with pytest.raises(ValueError, match=r"at most 1% of the logs may be unacceptable, got 1: .*b\.json"):
        build({"a.json": run(2000000, 1), "b.json": "{}"}, {"c.json": run(2000000, 2)}, 2000000)
    with pytest.raises(ValueError, match="must have 2 architectures, got 1"):
        nasbenchnlp_ptb.build_curves({}, released(5), rows=2)


def test_a_cycle_in_a_log_is_named() -> None:
    bad = json.dumps({"h_new_0": {"op": "linear", "input": ["x", "h_prev_0", "h_new_0"]}})
    with pytest.raises(ValueError, match=r"a\.json: recipe must have no cycle"):
        build({"a.json": run(2000000, 1, recepie=bad), "b.json": run(1, 1)}, {"c.json": run(2, 2)}, 2000000)


def test_the_large_files_are_a_data_set_of_their_own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    records = [f for f in catalogue.files().values() if f.dataset == "nasbenchnlp-ptb-logs"]
    assert len(records) == 3
    assert all(f.sha256.startswith("gitblob:") for f in records)
    monkeypatch.setenv("HPO_ENVS_DATA", str(tmp_path))
    with pytest.raises(store.TableNotInstalled, match="Run `hpo-envs fetch nasbenchnlp-ptb-logs nasbenchnlp`"):
        store.load(CURVES, "measured")


def test_files_known_by_git_blob_ids_are_verified(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A git blob id is the sha1 of "blob", the size, a zero byte and the content."""
    (tmp_path / "nasbenchnlp/train_logs_multi_runs").mkdir(parents=True)
    (tmp_path / nasbenchnlp_ptb.MULTI).write_bytes(b"not the archive")
    with pytest.raises(store.CorruptFile, match="gitblob:7414e12600ecb30cf1f46431ca420f35484b4546"):
        store.read(nasbenchnlp_ptb.MULTI, tmp_path)


def test_embedded_curves_fill_every_row() -> None:
    table = store.load(CURVES, "surrogate")
    assert table.values.shape == (14_322, 3, 50, 4)
    counts = (~np.isnan(table.cost[:, :, 0])).sum(axis=1)
    assert (counts[: nasbenchnlp_ptb.PTB_MULTI_ROWS] == 3).all()
    assert (counts[nasbenchnlp_ptb.PTB_MULTI_ROWS :] == 1).all()
    assert table.feature_names == store.load("nasbenchnlp/wikitext2", "surrogate").feature_names
    diverged = table.status[:, 0] == STATUSES.index("diverged")
    assert 0.15 < diverged.mean() < 0.23
    ends = np.nanpercentile(table.final("test_loss"), [5, 50, 95])
    assert np.allclose(ends, [4.66, 4.9, 6.4], atol=0.35)
    assert zips.MAX_MEMBERS > 3 * len(table)
