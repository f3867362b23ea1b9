"""Packs and table files: packed data are restored, damaged files are refused."""

import hashlib
import io
from pathlib import Path

import numpy as np
import pytest

from hpo_envs.tables import catalogue, store
from hpo_envs.tables.files import packs
from hpo_envs.tables.files.folder import CorruptFile
from tests.helpers import rejects

ARRAYS = {
    "a/whole": np.arange(5000, dtype=np.int64) ** 2,
    "a/text": np.array(["x", "yz"]),
    "a/numbers": np.sin(np.arange(600.0)).reshape(3, 200),
    "b/scalar": np.array(1.5),
    "b/none": np.zeros((0, 3), np.float32),
}


@pytest.fixture
def shipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A pack `set/pack.npz` that is pinned."""
    path = tmp_path / "set" / "pack.npz"
    path.parent.mkdir()
    path.write_bytes(packs.to_bytes(ARRAYS))
    monkeypatch.setattr(packs, "FOLDER", tmp_path)
    pins = {"set/pack.npz": hashlib.sha256(path.read_bytes()).hexdigest()}
    monkeypatch.setattr(catalogue, "pins", lambda: pins)
    return path


def test_read_returns_what_was_packed(shipped: Path) -> None:
    read = packs.read("set/pack.npz")
    assert read.keys() == ARRAYS.keys()
    for name, array in ARRAYS.items():
        assert (read[name].dtype, read[name].shape) == (array.dtype, array.shape)
        np.testing.assert_array_equal(read[name], array)


def test_read_returns_one_group_without_its_name(shipped: Path) -> None:
    assert packs.read("set/pack.npz", "b").keys() == {"scalar", "none"}


def test_pack_is_npz_with_byte_planes_where_those_are_smaller() -> None:
    with np.load(io.BytesIO(packs.to_bytes(ARRAYS))) as data:
        assert "a/whole:i8" in data.files
        assert "a/text" in data.files
        assert data["a/whole:i8"].shape == (8, 5000)


def test_same_arrays_give_same_bytes_in_any_order() -> None:
    assert packs.to_bytes(ARRAYS) == packs.to_bytes(dict(reversed(ARRAYS.items())))


@pytest.mark.hostile
def test_read_rejects_any_flipped_bit_by_name_of_pack(shipped: Path) -> None:
    content = shipped.read_bytes()
    for bit in np.random.default_rng(0).choice(8 * len(content), 300, replace=False).tolist():
        damaged = bytearray(content)
        damaged[bit // 8] ^= 1 << bit % 8
        shipped.write_bytes(damaged)
        rejects(r"^set/pack\.npz must have sha256", packs.read, "set/pack.npz", error=CorruptFile)


@pytest.mark.parametrize("content", [b"", b"PK", None])
@pytest.mark.hostile
def test_read_rejects_truncated_and_absent_packs(shipped: Path, content: bytes | None) -> None:
    shipped.unlink() if content is None else shipped.write_bytes(content)
    rejects(r"^set/pack\.npz must", packs.read, "set/pack.npz", error=CorruptFile)


def test_scaled_is_exact() -> None:
    values = np.round(np.random.default_rng(0).uniform(-1e3, 1e3, 1000), 4)
    whole = packs.scaled(values, 4)
    assert (whole.dtype, packs.unscaled(whole, 4).tobytes()) == (np.int32, values.tobytes())


@pytest.mark.parametrize("value", [0.12345, np.nan, np.inf, 1e14 + 0.125])
def test_scaled_rejects_what_has_more_decimals(value: float) -> None:
    rejects("must have at most 2 decimals", packs.scaled, [1.0, value], 2)


@pytest.mark.parametrize(("whole", "dtype"), [([0, 255], "u1"), ([0, 256], "u2"), ([-1, 200], "i2"), ([2**40], "i8")])
def test_smallest_type_that_holds_integers(whole: list[int], dtype: str) -> None:
    assert packs.smallest(np.array(whole)).dtype == np.dtype(dtype)


@pytest.mark.parametrize("name", ["nmthpo/zhen", "nmtlc/ft-zhen", "fiesta/ner"])
def test_pack_and_unpack_are_inverse(name: str) -> None:
    table = store.load(name)
    again = packs.unpack(packs.pack(table))
    assert again.provenance == table.provenance
    assert (again.keys, again.space, again.metrics) == (table.keys, table.space, table.metrics)
    for array in ("values", "cost", "configs", "features", "status", "source_index"):
        assert np.array_equal(getattr(again, array), getattr(table, array), equal_nan=array in ("values", "cost"))


@pytest.mark.hostile
def test_tables_larger_than_their_file_are_rejected() -> None:
    content = packs.pack(store.load("nmthpo/zhen"))[32:]
    with np.load(io.BytesIO(content)) as data:
        arrays = {name: data[name] for name in data.files}
    sink = io.BytesIO()
    np.savez_compressed(sink, **arrays, more=np.zeros(2**20))
    bad = sink.getvalue()
    rejects("bytes unpacked, more than", packs.unpack, hashlib.sha256(bad).digest() + bad)
