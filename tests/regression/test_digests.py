"""Nothing that the suite returns changes unnoticed: a part of `digests.py`, which checks everything at night."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hpo_envs.agents import AGENTS
from tests.regression import digests

RECORD = digests.read()
SMALL = digests.small(RECORD)


@pytest.mark.parametrize("env_id", sorted({key.partition("/")[0] for key in SMALL}))
def test_nothing_changed(env_id: str) -> None:
    tasks: Any = [tuple(key.split("/")) for key in SMALL if key.startswith(f"{env_id}/")]
    now = {"/".join(task): value for task, value in map(digests.digest, tasks)}
    assert digests.report({key: RECORD[key] for key in now}, now, digests.here()) == 0


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


def test_steps_are_compared_by_bits_everywhere_and_agents_where_they_were_recorded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    steps, bo = "NMTLC-swen-v0/measured/scalar", "NMTLC-swen-v0/measured/bo"
    known = {steps: "1", bo: f"2\t{digests.outcome([[1.0, 3.0], [5.0]])}"}
    assert known[bo] == "2\t3±1.6"
    monkeypatch.setattr(digests, "tasks", lambda ids: [tuple(key.split("/")) for key in known])
    monkeypatch.setattr(digests, "compute", lambda todo, *_: {k: known[k] for k in map("/".join, todo)})
    folder = f"--folder={tmp_path}"
    digests.main(["record", folder])
    assert digests.read(tmp_path) == known
    known[bo] = "3\t1.5±0.2"
    assert digests.main(["check", folder]) == 1
    assert digests.main(["check", folder, "--small"]) == 0, "bo is compared on few ids"
    monkeypatch.setattr(digests, "machine", lambda: {"machine": "another"})
    assert digests.main(["check", folder]) == 0
    with pytest.raises(SystemExit):
        digests.main(["record", folder, "--agents=bo"])
    known[bo] = "3\t1±0.2"
    assert digests.main(["check", folder]) == 1
    known |= {bo: "ValueError: 2", steps: "3"}
    assert digests.main(["check", folder]) == 1
    out = capsys.readouterr().out
    assert "2 compared, 2 changed" in out
    assert f"changed: {steps}: 1 -> 3" in out
    assert "say so in the CHANGELOG" in out


def test_what_is_new_fails_until_it_is_recorded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert digests.report({"a": "1"}, {"a": "1", "b": "2"}, True) == 1
    assert digests.NEW in capsys.readouterr().out
    env_id, journal = "NMTLC-swen-v0", tmp_path / "journal"
    arguments = [f"--folder={tmp_path}", f"--ids={env_id}", "--agents=random", "--jobs=1"]
    assert digests.main(["check", *arguments]) == 1
    assert digests.main(["record", *arguments, f"--journal={journal}"]) == 0
    key = f"{env_id}/measured/random"
    assert journal.read_text() == f"{key}\t{RECORD[key]}\n"
    assert digests.main(["check", *arguments]) == 0
    journal.write_text(f"{key}\t0\n")
    assert digests.main(["check", *arguments, f"--journal={journal}"]) == 1, "what was computed is not computed again"
    assert f"changed: {key}: {RECORD[key]} -> 0" in capsys.readouterr().out
