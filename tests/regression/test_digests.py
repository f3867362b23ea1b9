"""Nothing that the suite returns changes unnoticed: a part of `digests.py`, which checks everything at night."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hpo_envs.agents import AGENTS
from tests.regression import digests

RECORD = digests.read()
HERE = digests.small(digests.comparable(RECORD))
IDS = sorted({key.partition("/")[0] for key in digests.small(RECORD)})


@pytest.mark.parametrize("env_id", IDS)
def test_nothing_changed(env_id: str) -> None:
    keys = [key for key in HERE if key.startswith(f"{env_id}/")]
    if not keys:
        pytest.skip("recorded with another NumPy, SciPy or kernel of BLAS, and not known to be portable")
    now = {key: digests.digest(tuple(key.split("/")))[1] for key in keys}  # type: ignore[arg-type]
    changed = [f"{key}: {RECORD[key].value} -> {now[key]}" for key in keys if now[key] != RECORD[key].value]
    assert not changed, f"{digests.CHANGED}\n" + "\n".join(changed)


def test_everything_is_recorded_and_nothing_that_is_gone() -> None:
    now = {"/".join(task) for task in digests.tasks()}
    assert sorted(now - RECORD.keys()) == [], digests.NEW
    missing = {name for name, entry in AGENTS.items() if not entry.installed}
    gone = RECORD.keys() - now
    assert sorted(key for key in gone if key.rpartition("/")[2] not in missing) == []


def test_agents_of_this_package_are_compared() -> None:
    external = {name for name, entry in AGENTS.items() if entry.extra is not None}
    assert {k.rpartition("/")[2] for k in RECORD} - external == {k.rpartition("/")[2] for k in digests.small(RECORD)}


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
    steps, bo = "NMTLC-swen-v0/measured/scalar", "NMTLC-swen-v0/measured/bo"
    known = {steps: "1", bo: "2"}
    monkeypatch.setattr(digests, "tasks", lambda ids: [tuple(key.split("/")) for key in known])
    monkeypatch.setattr(digests, "compute", lambda todo, *_: {k: known[k] for k in map("/".join, todo)})
    here, other = f"--folder={tmp_path / 'here'}", f"--folder={tmp_path / 'other'}"
    digests.main(["record", other])
    known[bo] = "3"
    digests.main(["record", here, f"--against={tmp_path / 'other'}"])
    record = digests.read(tmp_path / "here")
    assert record == {steps: digests.Digest("1", True, True), bo: digests.Digest("3", False, True)}
    monkeypatch.setattr(digests, "machine", lambda: {"machine": "another"})
    assert digests.comparable(record) == [bo, steps]
    assert digests.comparable(digests.read(tmp_path / "here")) == [steps]
    with pytest.raises(SystemExit):
        digests.main(["record", here, "--agents=bo"])
    assert digests.main(["check", here]) == 0
    assert digests.main(["check", other, "--small"]) == 0, "bo is compared on few ids"
    assert digests.main(["check", other]) == 1
    out = capsys.readouterr().out
    assert f"changed: {bo}: 2 -> 3" in out
    assert "say so in the CHANGELOG" in out
    assert digests.main(["check", here, "--portable"]) == 0
    assert capsys.readouterr().out.startswith("1 compared")


def test_what_is_new_fails_until_it_is_recorded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert digests.report({"a": "1"}, {"a": "1", "b": "2"}) == 1
    assert digests.NEW in capsys.readouterr().out
    env_id, journal = "NMTLC-swen-v0", tmp_path / "journal"
    arguments = [f"--folder={tmp_path}", f"--ids={env_id}", "--agents=random", "--jobs=1"]
    assert digests.main(["check", *arguments]) == 1
    assert digests.main(["record", *arguments, f"--journal={journal}"]) == 0
    key = f"{env_id}/measured/random"
    assert journal.read_text() == f"{key}\t{RECORD[key].value}\n"
    assert digests.main(["check", *arguments]) == 0
    journal.write_text(f"{key}\t0\n")
    assert digests.main(["check", *arguments, f"--journal={journal}"]) == 1, "what was computed is not computed again"
    assert f"changed: {key}: {RECORD[key].value} -> 0" in capsys.readouterr().out
