"""Packed runs of NAS-Bench-NLP compared with the files."""

import io
import json
import math
import zipfile
from typing import Any

import numpy as np
import pytest

from hpo_envs.tables import cells, store
from hpo_envs.tables.cells.canonical import key
from hpo_envs.tables.cells.recipe import parse
from hpo_envs.tables.cells.size import VOCABULARY, parameters
from hpo_envs.tables.datasets import nasbenchnlp as names
from hpo_envs.tables.datasets.nasbenchnlp import PTB_FINAL, WIKITEXT2, build, pack
from hpo_envs.tables.datasets.nasbenchnlp.logs import read_archive
from hpo_envs.tables.table import STATUSES
from tests.helpers import needs_upstream
from tests.tables.datasets.nasbenchnlp.test_logs import log, zipped

LOSSES = np.array([[1.0, 2.0, 3.0], [1.5, 2.5, 3.5], [np.nan, 2.0, 3.0]], np.float32)


def run(architecture: int, losses: np.ndarray = LOSSES, **changes: object) -> str:
    curves = dict(zip(("val_losses", "test_losses", "train_losses"), (losses / build.WORDS).T.tolist(), strict=True))
    return json.dumps(log(recepie_id=architecture, experiment_id=architecture, **curves, **changes))


def test_runs_of_one_recipe_are_repeats() -> None:
    lstm = cells.EXAMPLES["LSTM"].to_json()
    content = zipped(**{"a.json": run(1000003), "b.json": run(2000000, recepie=lstm), "c.json": run(1002003)})
    arrays = pack.curves(read_archive(content, "logs.zip"), {1000003: np.full(10, 0.25)})
    assert (arrays["repeats"].tolist(), arrays["architectures"].tolist()) == ([2, 1], [1000003, 1002003, 2000000])
    assert arrays["ticks"][0, :4].tolist() == [3 * 2**22, 2 * 2**22, 2 * 2**22, 0]
    assert arrays["losses"].dtype == np.float32
    np.testing.assert_array_equal(arrays["losses"][2, :3], LOSSES)
    assert np.isnan(arrays["losses"][:, 3:]).all()
    assert arrays["features"][:, -1].tolist() == [10**build.FEATURE_DECIMALS, 0]


@pytest.mark.parametrize(
    "broken",
    [run(5, LOSSES.astype(float) + 1e-9), run(5, wall_times=[3.0, 2.0, 2.0 + 1e-9])],
    ids=["losses", "seconds"],
)
def test_numbers_that_pack_cannot_hold_are_rejected(broken: str) -> None:
    with pytest.raises(ValueError, match="must be float32 sums|must have at most 0 decimals"):
        pack.curves(read_archive(zipped(**{"a.json": broken}), "logs.zip"), {})


def test_recipes_of_one_computation_have_numbered_keys() -> None:
    rnn = cells.EXAMPLES["RNN"]
    k = cells.key(rnn)
    assert pack.unique_keys([rnn, cells.EXAMPLES["GRU"], rnn, rnn])[::2] == [k, f"{k}#2"]


GOOD = "log_stats_model_1000075_2020-04-14_18-43-13_999.json,4.98,146.0,7.19,9174800,9174800"


def test_quirks_of_file_of_final_losses() -> None:
    glued = GOOD.replace("1000075", "1000076") + "log name,loss,perplexity,trainable paramters,total paramters"
    again = "log_stats_model_1000075_2020-04-14_18-43-13_999.json,nan,nan,nan,nan,nan"
    text = "\n".join(["log name,loss", GOOD, glued, again, "nonsense,1,2,3,4,5", "log name,loss"])
    assert pack.read_final(text) == {1000075: (4.98, 9174800.0), 1000076: (4.98, 9174800.0)}


def test_seeds_of_one_architecture_are_repeats() -> None:
    final = {1000003: (4.5, 7.0), 1002003: (math.nan, 7.0), 1000004: (5.5, 8.0), 2000000: (5.0, 9.0)}
    arrays = pack.final_losses(final, {1000003: np.zeros(10), 1000004: np.ones(10)})
    assert (arrays["ids"].tolist(), arrays["repeats"].tolist()) == ([1000003, 1000004], [2, 1])
    assert arrays["losses"].tolist() == [[4_500_000_000, 0, 0], [5_500_000_000, 0, 0]]
    assert arrays["parameters"].tolist() == [7, 8]
    with pytest.raises(ValueError, match="must have as many parameters"):
        pack.final_losses({1000003: (4.5, 7.0), 1002003: (4.5, 8.0)}, {1000003: np.zeros(10)})


def test_packed_features_and_sizes_are_those_of_cells() -> None:
    table = store.load(WIKITEXT2)
    of_rows = [cells.Cell.from_text(k.partition("#")[0]) for k in table.keys]
    np.testing.assert_array_equal(table.features[:, : cells.features.SIZE], cells.embed(of_rows))
    sizes = [parameters(cell, VOCABULARY["wikitext2"]) for cell in of_rows]
    assert table.values[:, 0, 0, table.metric("parameters")].tolist() == sizes


def test_each_run_has_its_architecture() -> None:
    table = store.load(WIKITEXT2)
    ids, runs = build.architectures(), (~np.isnan(table.cost[:, :, 0])).sum(axis=1)
    assert ([len(ids[i]) for i in table.source_index], sum(map(len, ids))) == (runs.tolist(), 345)
    assert len({i for row in ids for i in row.tolist()}) == 344
    assert ids[table.source_index[table.row(cells.key(cells.EXAMPLES["LSTM"]))]].tolist() == [1000001]


def test_final_losses_have_up_to_three_seeds() -> None:
    table = store.load(PTB_FINAL)
    assert (table.values.shape, np.nanmin(table.values[..., 0])) == ((4114, 3, 1, 2), pytest.approx(4.4287, abs=1e-4))
    counts = np.bincount((~np.isnan(table.cost)).sum(axis=(1, 2)))
    assert counts.sum() == 4114


WT2 = "nasbenchnlp/wikitext2"


@needs_upstream
def test_every_epoch_of_every_run_equals_file() -> None:
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
    assert (seen, (~np.isnan(table.cost[:, :, 0])).sum()) == (345, 345)
    assert len({k.split("#")[0] for k in table.keys}) == 265
