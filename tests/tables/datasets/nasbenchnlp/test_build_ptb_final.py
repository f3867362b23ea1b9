"""Final losses on the Penn Treebank."""

from __future__ import annotations

import math

import numpy as np
import pytest

from hpo_envs.tables import store
from hpo_envs.tables.datasets.nasbenchnlp import build_ptb_final, features
from hpo_envs.tables.datasets.nasbenchnlp.names import PARAMETERS, PTB_FINAL
from hpo_envs.tables.table import STATUSES


@pytest.mark.measured
def test_final_losses_are_those_of_the_file() -> None:
    table = store.load(PTB_FINAL, "measured")
    losses = build_ptb_final.read_final(store.read(PARAMETERS), "f")
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
        found.setdefault(features.group(i), []).append(v)
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
    assert build_ptb_final.read_final(text.encode(), "f") == {1000075: (4.98, 9174800.0), 1000076: (4.98, 9174800.0)}


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
        build_ptb_final.read_final(text.encode(), "f")


@pytest.mark.measured
def test_embedded_final_losses_resemble_the_measured_ones() -> None:
    e, m = (store.load(PTB_FINAL, kind) for kind in ("surrogate", "measured"))
    assert e.values.shape == m.values.shape
    assert e.feature_names == m.feature_names
    assert np.array_equal(np.bincount((~np.isnan(e.cost)).sum((1, 2))), np.bincount((~np.isnan(m.cost)).sum((1, 2))))
    a, b = e.final("test_loss"), m.final("test_loss")
    assert abs(np.isnan(a).mean() - np.isnan(b).mean()) < 0.05
    for q in (5, 50, 95):
        assert abs(np.nanpercentile(a, q) - np.nanpercentile(b, q)) < 0.2
    rows = {r.tobytes() for r in m.values}
    assert not any(r.tobytes() in rows for r in e.values if not np.isnan(r[..., 0]).any())
