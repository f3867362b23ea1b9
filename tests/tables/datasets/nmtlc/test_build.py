"""The NMTLC tables: every point of the file, hostile and damaged pickles, and the embedded curves."""

from __future__ import annotations

import os
import pickle
from typing import Any

import numpy as np
import pytest

from hpo_envs.tables import catalogue, store
from hpo_envs.tables.datasets.nmtlc import build as nmtlc
from hpo_envs.tables.table import STATUSES

ROWS = {"zhen": 148, "ruen": 193, "jaen": 177, "enja": 179, "swen": 819, "soen": 646, "ft-fren": 162, "ft-zhen": 159}
LONGEST = {"zhen": 157, "ruen": 165, "jaen": 569, "enja": 423, "swen": 133, "soen": 77, "ft-fren": 74, "ft-zhen": 28}


def record(**changes: Any) -> dict[str, Any]:
    hyperparams = {"num_layers": 2, "model_size": 256, "ff_num_hidden": 1024, "initial_lr": 0.0003, "bpe": 30}
    base = {"task": "scratch", "src": "zh", "trg": "en", "basemodel": "scratch", "hyperparams": hyperparams}
    return {**base, "perplexity_curve": [9.0, 4.0, 5.0], **changes}


def build(records: Any, name: str = "nmtlc/zhen") -> Any:
    return nmtlc.build(name, lambda file: pickle.dumps(records))


def test_a_record_becomes_a_row() -> None:
    table = build([record(), record(perplexity_curve=[3.0]), record(src="ru")])
    assert table.keys == ("2-256-1024-0.0003#1", "2-256-1024-0.0003#2")
    assert table.values[0, 0, :, 1].tolist() == [9.0, 4.0, 5.0]
    assert table.values[0, 0, :, 0].tolist() == np.log([9.0, 4.0, 5.0]).tolist()
    assert np.isnan(table.values[1, 0, 1:]).all()
    assert table.cost[0, 0].tolist() == table.levels.tolist() == [2000.0, 4000.0, 6000.0]
    assert [STATUSES[s] for s in table.status[:, 0]] == ["truncated", "truncated"]
    stopped = build([record(perplexity_curve=[4.0, 3.0] + [5.0] * 16)])
    assert STATUSES[stopped.status[0, 0]] == "ok"


class Evil:
    """Runs a command where a pickle is trusted."""

    def __reduce__(self) -> Any:
        return os.mkdir, ("/tmp/hpo-envs-was-here",)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (pickle.dumps([Evil()]), r"must hold plain data only, got the global \w+\.mkdir"),
        (pickle.dumps([np.float64(1.0)]), "must hold plain data only, got the global numpy"),
        (pickle.dumps({1, 2}, protocol=2), "must hold plain data only, got the global"),
        (pickle.dumps([record()])[:-20], "cannot be read"),
        (b"\x80\x04}.", "must hold a list of records, got dict"),
        (b"P123\n.", "must hold plain data only, got the persistent id"),
        (b"", "cannot be read: ValueError: pickle exhausted"),
        (b"not a pickle", "cannot be read"),
        (pickle.dumps([]), "must hold a list of records"),
        (pickle.dumps([1]), "record 0: must be a dict, got int"),
        (pickle.dumps([record(task=3)]), "record 0: task must be text, got 3"),
        (pickle.dumps([record(hyperparams=None)]), "record 0: hyperparams must be a dict"),
        (pickle.dumps([record(perplexity_curve=[])]), "record 0: perplexity_curve must be a list of at least one"),
        (pickle.dumps([record(perplexity_curve=[1.0, "2"])]), "record 0: perplexity_curve must be a list of"),
        (
            pickle.dumps([record(), record(perplexity_curve=[0.5])]),
            "record 1: perplexity_curve must be finite and >= 1",
        ),
        (pickle.dumps([record(perplexity_curve=[float("nan")])]), "perplexity_curve must be finite and >= 1, got nan"),
        (pickle.dumps([record(bleu_curve=[1.0])]), "record 0: bleu_curve must have 3 points, got 1"),
        (pickle.dumps([record(hyperparams={"num_layers": 3})]), r"record 0: layers must be one of \(2, 4\), got 3"),
    ],
)
def test_hostile_and_damaged_files(content: bytes, message: str) -> None:
    with pytest.raises(ValueError, match=rf"nmthpo/lc_datasets/nmtlc\.pkl.*{message}"):
        nmtlc.build("nmtlc/zhen", lambda file: content)
    assert not os.path.exists("/tmp/hpo-envs-was-here")


@pytest.mark.measured
def test_every_point_of_the_file_is_in_a_table() -> None:
    records = nmtlc.read_records(store.read(nmtlc.FILE))
    assert len(records) == 2483
    total = 0
    for name in nmtlc.NAMES:
        corpus = name.partition("/")[2]
        table = store.load(name, "measured")
        assert len(table) == ROWS[corpus]
        assert len(table.levels) == LONGEST[corpus]
        wanted = [r for r in records if (r["task"], r["src"], r["trg"]) == nmtlc.CORPORA[corpus]]
        total += len(wanted)
        curves = sorted(tuple(r["perplexity_curve"]) for r in wanted)
        perplexity = table.values[:, 0, :, 1]
        assert sorted(tuple(row[~np.isnan(row)].tolist()) for row in perplexity) == curves
        if "-" in corpus:
            bleu = table.values[:, 0, :, 2]
            assert sorted(tuple(r[~np.isnan(r)].tolist()) for r in bleu) == sorted(
                tuple(r["bleu_curve"]) for r in wanted
            )
        for key, config in zip(table.keys, table.configs, strict=True):
            assert key.startswith("-".join(f"{v:g}" for v in config) + "#")
    assert total == 2483
    assert max(float(np.nanmax(store.load(n, "measured").values[..., 0])) for n in nmtlc.NAMES) < 40.0


@pytest.mark.measured
def test_runs_are_those_of_the_nmthpo_tables() -> None:
    """One to one on four pairs: same hyperparameters, and the best perplexity is the one of the table."""
    for pair, rows in (("ruen", 176), ("jaen", 150), ("swen", 767), ("soen", 604)):
        finals = store.load(f"nmthpo/{pair}", "measured")
        curves = store.load(f"nmtlc/{pair}", "measured")
        names = [h.name for h in curves.space]
        columns = [[h.name for h in finals.space].index(n) for n in names]
        best = np.nanmin(curves.values[:, 0, :, 1], axis=1)
        where: dict[Any, list[int]] = {}
        for row, config in enumerate(curves.configs):
            where.setdefault((*config.tolist(), round(float(best[row]), 2)), []).append(row)
        perplexity = finals.values[:, 0, 0, finals.metric("perplexity")]
        found = [
            where.get((*c.tolist(), round(float(p), 2)), [])
            for c, p in zip(finals.configs[:, columns], perplexity, strict=True)
        ]
        assert len(found) == rows
        assert sum(bool(f) for f in found) == rows
        # A level is 2,000 updates: where the join is unique the curve is as long as the recorded updates say.
        updates = finals.values[:, 0, 0, finals.metric("updates")]
        length = (~np.isnan(curves.values[:, 0, :, 0])).sum(axis=1)
        unique = [(u, length[f[0]]) for u, f in zip(updates, found, strict=True) if len(f) == 1]
        assert len(unique) > 0.8 * rows
        assert np.mean([u == 2000 * n for u, n in unique]) > 0.95


@pytest.mark.parametrize("name", nmtlc.NAMES)
def test_embedded_curves_look_like_curves(name: str) -> None:
    table = store.load(name, "surrogate")
    corpus = name.partition("/")[2]
    assert table.values.shape[0] == ROWS[corpus]
    assert table.values.shape[2] == LONGEST[corpus]
    loss = table.values[:, 0, :, 0]
    length = (~np.isnan(loss)).sum(axis=1)
    assert length.min() >= 1
    after = length - 1 - np.nanargmin(loss, axis=1)
    patience = nmtlc.PATIENCE[nmtlc.CORPORA[corpus][0]]
    assert (after <= patience).all()
    assert np.array_equal(table.status[:, 0] == 0, after == patience)


@pytest.mark.measured
@pytest.mark.parametrize("name", nmtlc.NAMES)
def test_embedded_rows_are_the_measured_rows(name: str) -> None:
    surrogate, measured = store.load(name, "surrogate"), store.load(name, "measured")
    assert surrogate.keys == measured.keys
    assert np.array_equal(surrogate.configs, measured.configs)
    assert np.array_equal(surrogate.levels, measured.levels)
    s, m = np.nanmin(surrogate.values[:, 0, :, 0], axis=1), np.nanmin(measured.values[:, 0, :, 0], axis=1)
    assert not np.isin(np.round(m, 5), np.round(s, 5)).mean() > 0.05, "no measurement travels in disguise"
    assert np.corrcoef(s, m)[0, 1] > 0.5


def test_the_file_is_in_the_catalogue() -> None:
    assert catalogue.files()[nmtlc.FILE].bytes == 1454767
