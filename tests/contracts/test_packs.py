"""Pack scripts: what ships matches upstream's files."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from hpo_envs.tables import catalogue, store
from hpo_envs.tables.datasets import packing
from hpo_envs.tables.files import packs
from hpo_envs.tables.files.folder import CorruptFile
from tests.helpers import needs_upstream, rejects

SHIPPED = packs.FOLDER
DATASETS = tuple(path.parent.name for path in sorted(SHIPPED.glob("*/pack.py")))
COVERS = ("hpo_envs.tables.datasets.packing", *(f"hpo_envs.tables.datasets.{name}.pack" for name in DATASETS))


@needs_upstream
@pytest.mark.parametrize("dataset", DATASETS)
def test_packs_equal_what_upstream_files_give(dataset: str, capsys: pytest.CaptureFixture[str]) -> None:
    packing.main([dataset, "--check"])
    assert "match upstream's files" in capsys.readouterr().out


@pytest.fixture
def copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, dict[str, np.ndarray]]]:
    """The packs and pins of nmthpo in another folder."""
    pack = "nmthpo/pack.npz"
    arrays = packs.read(pack)
    (tmp_path / "packs.csv").write_bytes(catalogue.PINS.read_bytes())
    monkeypatch.setattr(packs, "FOLDER", tmp_path)
    monkeypatch.setattr(catalogue, "PINS", tmp_path / "packs.csv")
    yield {pack: arrays}
    catalogue.pins.cache_clear()


def test_write_makes_the_same_bytes_and_pins_again(copied: dict, capsys: pytest.CaptureFixture[str]) -> None:
    before, shipped = catalogue.PINS.read_bytes(), (SHIPPED / "nmthpo/pack.npz").read_bytes()
    packing.write(copied, ["nmthpo/zhen"])
    assert (catalogue.PINS.read_bytes(), (packs.FOLDER / "nmthpo/pack.npz").read_bytes()) == (before, shipped)


def test_check_names_the_array_with_other_numbers(copied: dict) -> None:
    packing.write(copied, ["nmthpo/zhen"])
    ((pack, arrays),) = copied.items()
    other = arrays["zhen/evaluations"].copy()
    other[0, 5] += 1
    with pytest.raises(ValueError, match=r"nmthpo/pack\.npz: zhen/evaluations must match upstream's files"):
        packing.check({pack: {**arrays, "zhen/evaluations": other}}, ["nmthpo/zhen"])
    rejects(r"nmthpo/pack\.npz must have", packing.check, {pack: {**arrays, "more": other}}, ["nmthpo/zhen"])


def test_table_that_differs_from_its_pin_is_rejected(monkeypatch: pytest.MonkeyPatch) -> None:
    other = {**catalogue.pins(), "nmthpo/zhen": "0" * 64}
    monkeypatch.setattr(catalogue, "pins", lambda: other)
    store._shipped.cache_clear()
    rejects(r"nmthpo/zhen must have sha256 0{64}", store.load, "nmthpo/zhen", error=CorruptFile)
    store._shipped.cache_clear()
