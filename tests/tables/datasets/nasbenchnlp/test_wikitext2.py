"""NAS-Bench-NLP on WikiText-2: every number of the logs."""

from __future__ import annotations

import io
import json
import zipfile
from typing import Any

import numpy as np
import pytest

from hpo_envs.tables import store
from hpo_envs.tables.cells.canonical import key
from hpo_envs.tables.cells.recipe import EXAMPLES, parse
from hpo_envs.tables.datasets import nasbenchnlp as names
from hpo_envs.tables.table import STATUSES
from tests.helpers import needs_upstream

WT2 = "nasbenchnlp/wikitext2"


@needs_upstream
def test_every_epoch_of_every_run_equals_the_file() -> None:
    table = store.load(WT2)
    content = store.read(names.LOGS)
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


def test_published_perplexities_of_conventional_cells() -> None:
    table = store.load(WT2)
    rows = {name: table.row(key(cell)) for name, cell in EXAMPLES.items()}
    test = table.values[..., table.metric("test_loss")]
    assert np.nanmin(test[rows["LSTM"]]) == pytest.approx(4.516, abs=2e-3)
    assert np.nanmin(test) == np.nanmin(test[rows["LSTM"]])
