"""A search that is killed and goes on."""

from __future__ import annotations

from pathlib import Path

from hpo_envs.benchmarks.performance import killed
from hpo_envs.benchmarks.tuning import Tuned
from tests.benchmarks.tuning.helpers import PROGRAM


def test_killed_again_and_again_it_spends_the_budget_once(tmp_path: Path) -> None:
    program, out = tmp_path / "program.py", tmp_path / "out"
    program.write_text(PROGRAM, encoding="utf-8")
    out.mkdir()
    result = killed.trial(tmp_path, 4, program=program, budget=24)
    assert result.good
    tuned = Tuned.load(out)
    assert [e.number for e in tuned] == list(range(24))
    assert all(e.status == "ok" for e in tuned)
    assert len({e.config["x"] for e in tuned}) == 24
    # What was under way at a kill was carried out again; nothing else was.
    assert len((out / "calls").read_text().splitlines()) <= 24 + 2 * result.kills


def test_what_is_lost_or_doubled_is_seen() -> None:
    assert killed.Result(kills=20, budget=40, ended=40, doubled=0, changed=0).good
    for facts in ({"ended": 39}, {"doubled": 1}, {"changed": 1}, {"kills": 0}):
        assert not killed.Result(**{"kills": 20, "budget": 40, "ended": 40, "doubled": 0, "changed": 0, **facts}).good
