"""StepLaw: the reader, on files of the same form, and on upstream's if they are installed."""

import csv
import io

import gymnasium as gym
import numpy as np
import pytest

from hpo_envs.tables import store
from hpo_envs.tables.datasets.steplaw import GRIDS, SIZES, TABLES, build
from hpo_envs.tables.files import folder
from tests.helpers import raises

HEADS = {
    build.DENSE: ("N", "D", "lr", "bs", "loss", "smooth loss"),
    build.MIXTURE: ("moe_name", "D", "lr", "bs", "loss", "smooth loss", "total_time"),
}


def made(file: str, *runs: tuple) -> bytes:
    """A file with these columns, and one that is not read."""
    stream = io.StringIO()
    writer = csv.writer(stream)
    writer.writerows([("exp_name", *HEADS[file]), *(("x, y", *run) for run in runs)])
    return stream.getvalue().encode()


def test_dense_grid_of_a_file_of_the_same_form() -> None:
    other = (SIZES["268m"], 4_000_000_000, 0.1, 8, 9.0, 9.0)
    runs = [(SIZES["215m"], 4_000_000_000, lr, bs, 3.0 + lr, 2.5 + bs) for lr in (0.004, 0.001) for bs in (64, 16)]
    table = build.build("steplaw/215m-4b", lambda file: made(file, other, *runs))
    assert table.source_index.tolist() == [1, 2, 3, 4]
    assert table.config(0) == {"learning_rate": 0.004, "batch_size": 64}
    assert table.features.tolist() == [[1, 1], [1, 0], [0, 1], [0, 0]]
    assert table.values[0, 0, 0].tolist() == [66.5, 3.004]
    assert (table.cost_unit, table.cost[:, 0, 0].tolist()) == ("exaFLOP", pytest.approx([5.15192832] * 4))
    with raises("steplaw/dense_lr_bs_loss.csv must have runs of steplaw/268m-5b, got 1 others"):
        build.build("steplaw/268m-5b", lambda file: made(file, other))


def test_mixtures_have_their_seconds() -> None:
    runs = [("2in88", 2e9, 0.001, bs, 3.0, 2.9, 100.5 * bs) for bs in (32, 64)] + [("3in8", 2e9, 0.1, 1, 1, 1, 1)]
    table = build.build("steplaw/moe-2in88-2b", lambda file: made(file, *runs))
    assert (table.cost_unit, table.cost[:, 0, 0].tolist()) == ("s", [3216.0, 6432.0])


def test_an_id_says_in_a_line_what_to_fetch(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HPO_ENVS_DATA", str(tmp_path))
    with pytest.raises(store.TableNotInstalled, match=r"not installed: run `hpo-envs fetch steplaw`$"):
        gym.make("StepLaw-moe-1in8-2b-v0")


@pytest.mark.skipif(not (folder.data_folder() / build.DENSE).is_file(), reason="needs `hpo-envs fetch steplaw`")
def test_grids_of_upstreams_files() -> None:
    tables = {name: store.load(name) for name in TABLES}
    assert (len(GRIDS), sum(len(t) for n, t in tables.items() if "moe" not in n)) == (33, 1911)
    assert sum(len(t) for n, t in tables.items() if "moe" in n) == 708
    for table in tables.values():
        rates, batches = (len(h.values) for h in table.space)
        assert rates * batches - 20 <= len(table) <= rates * batches
        assert (table.values < 12).all()
        smoothed = table.final("smoothed_loss")
        assert np.isfinite(smoothed).all()
    assert tables["steplaw/1074m-20b"].final("smoothed_loss").min() == pytest.approx(2.225, abs=5e-4)
