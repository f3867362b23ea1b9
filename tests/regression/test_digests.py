"""Nothing that the suite returns changes unnoticed: a part of `digests.py`, which checks everything at night."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.regression import digests

RECORD = json.loads(digests.PATH.read_text(encoding="utf-8"))
HERE = digests.small(digests.comparable(RECORD))
IDS = sorted({key.partition("/")[0] for key in digests.small(RECORD["digests"])})


@pytest.mark.parametrize("env_id", IDS)
def test_nothing_changed(env_id: str) -> None:
    keys = [key for key in HERE if key.startswith(f"{env_id}/")]
    if not keys:
        pytest.skip("recorded with another NumPy, SciPy or kernel of BLAS, and not known to be portable")
    now = {key: digests.digest(tuple(key.split("/")))[1] for key in keys}  # type: ignore[arg-type]
    changed = [f"{key}: {RECORD['digests'][key]} -> {now[key]}" for key in keys if now[key] != RECORD["digests"][key]]
    assert not changed, f"{digests.CHANGED}\n" + "\n".join(changed)


def test_every_id_and_the_agents_of_this_package_are_compared() -> None:
    part = digests.small(RECORD["digests"])
    for what in ("scalar", "batched"):
        live = {env_id for env_id in IDS if env_id.startswith("Function")}
        kinds = {env_id: digests.LIVE if env_id in live else "surrogate" for env_id in IDS}
        assert {f"{env_id}/{kind}/{what}" for env_id, kind in kinds.items()} <= {*part}
    external = {"cmaes", "optuna", "tpe", "tpe-features"}
    assert {k.rpartition("/")[2] for k in RECORD["digests"]} - external == {k.rpartition("/")[2] for k in part}


def test_digests_see_bits_types_and_shapes() -> None:
    import hashlib

    def of(value: Any) -> str:
        h = hashlib.sha256()
        digests.put(h, value)
        return h.hexdigest()

    same = {"a": np.arange(3.0), "b": [1, None]}
    assert of(same) == of({"b": [1, None], "a": np.arange(3.0)})
    different = (
        {"a": np.arange(3), "b": [1, None]},
        {"a": np.arange(3.0), "b": [1.0, None]},
        {"a": np.nextafter(1, 2)},
    )
    assert len({of(value) for value in (same, *different)}) == 4
    with pytest.raises(TypeError, match="no digest of"):
        of(object())


def test_a_change_is_told_and_another_kernel_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    known = {"X/surrogate/scalar": "1", "X/surrogate/bo": "2"}
    todo = [tuple(key.split("/")) for key in known]
    monkeypatch.setattr(digests, "tasks", lambda ids, kinds: todo)
    monkeypatch.setattr(digests, "compute", lambda todo, jobs: {k: known[k] for k in map("/".join, todo)})
    here, other = tmp_path / "here.json", tmp_path / "other.json"
    digests.main(["record", "--file", str(other)])
    known["X/surrogate/bo"] = "3"
    digests.main(["record", "--file", str(here), "--against", str(other)])
    record = json.loads(here.read_text(encoding="utf-8"))
    assert record["portable"] == ["X/surrogate/scalar"]
    assert digests.comparable(record) == [*known]
    assert digests.comparable({**record, "machine": {}}) == ["X/surrogate/scalar"]
    assert digests.main(["check", "--file", str(here)]) == 0
    assert digests.main(["check", "--file", str(other), "--small"]) == 0, "bo is compared on few ids"
    assert digests.main(["check", "--file", str(other)]) == 1
    out = capsys.readouterr().out
    assert "changed: X/surrogate/bo: 2 -> 3" in out
    assert "say so in the CHANGELOG" in out
    assert digests.main(["check", "--file", str(here), "--portable"]) == 0
    assert capsys.readouterr().out.startswith("1 compared")
