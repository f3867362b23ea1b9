"""The character transduction sweeps: tables, surrogate, environments."""

import csv
import io

import numpy as np
import pytest

from hpo_envs.tables import store
from hpo_envs.tables.datasets.charhpo import SCHEDULERS, model, pack
from hpo_envs.tables.datasets.charhpo import build as charhpo
from tests.helpers import needs_upstream


def upstream(name: str) -> list[dict[str, str]]:
    content = store.read(pack.file_of(name)).decode()
    return list(csv.DictReader(io.StringIO(content), delimiter="\t"))[:200]


@needs_upstream
@pytest.mark.parametrize("name", charhpo.NAMES)
def test_measured_values_are_those_of_file(name: str) -> None:
    t, lines = store.load(name), upstream(name)
    records = [lines[i] for i in t.source_index]
    assert t.keys == tuple(r["name"] for r in records)
    assert (t.final("accuracy") == [100 * float(r["max_val_accuracy"]) for r in records]).all()
    assert (t.final("runtime") == [float(r["_runtime"]) for r in records]).all()
    for i, r in enumerate(records):
        config = t.config(i)
        assert config["scheduler"] == r["scheduler"].lower()
        for h in t.space:
            if h.kind == "categorical":
                continue
            active = h.condition is None or config["scheduler"] in h.condition[1]
            assert config[h.name] == (float(r[pack.UPSTREAM.get(h.name, h.name)]) if active else 0)
    assert len(np.unique(t.configs, axis=0)) == 200, "no configuration occurs twice"


@pytest.mark.parametrize("name", charhpo.NAMES)
def test_draws_follow_table_2(name: str) -> None:
    t = model.table(name)
    space = t.space
    configs = model.draws(name)
    assert (configs[t.source_index] == t.configs).all()
    codes = configs[:, 5]
    assert 40 < (codes == 0).sum() < 95
    for j, h in enumerate(space):
        active = np.ones(200, bool) if h.condition is None else codes == SCHEDULERS.index(h.condition[1][0])
        x = configs[active, j]
        assert (configs[~active, j] == 0).all()
        if h.low < h.high:
            # Uniform on its scale: mean 1/2 with standard deviation sqrt(1/12/n), grids a little wider.
            scaled = x / 2 if h.kind == "categorical" else h.scale(x)
            assert abs(scaled.mean() - 0.5) < 5 * 0.42 / np.sqrt(active.sum())
        if h.values and h.kind == "int":
            assert np.isin(x, h.values).all()
    assert (configs[:, 6] % 100 == 0).all()
