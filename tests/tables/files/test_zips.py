"""Hostile and damaged archives."""

from __future__ import annotations

import json

import pytest

from hpo_envs.tables.files import zips
from tests.tables.datasets.nasbenchnlp.archives import log, zipped


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
