"""`hpo-envs list`: every id, and what answers it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hpo_envs.commands import main
from hpo_envs.registry import SPECS


def test_list_shows_every_id_and_what_answers_it(empty: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main.main(["list"]) == 0
    ship, *fetched = capsys.readouterr().out.split("\nAfter `")
    rows = [[line.split()[:2] for line in part.splitlines() if line.startswith("  ")] for part in (ship, *fetched)]
    assert {
        part.partition("`")[0]: [name for name, _ in some] for part, some in zip(fetched, rows[1:], strict=True)
    } == {
        "hpo-envs fetch cushlepor-news": [i for i in SPECS if i.startswith("CushLEPOR-news")],
        "hpo-envs fetch nasbenchnlp-ptb-logs": ["NASBenchNLP-ptb-v0"],
    }
    assert sorted(name for some in rows for name, _ in some) == sorted(SPECS)
    assert {name for name, kind in rows[0] if kind == "surrogate"} == {
        "CharHPO-v0",
        "FIESTA-gaussian-v0",
        "TableHPO-v0",
    }
    assert main.main(["list", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)
    assert [r["id"] for r in listed] == list(SPECS)
    assert all(r["summary"].endswith((".", "?")) for r in listed)
    assert main.main(["list", "swen"]) == 0
    assert "NMTHPO-zhen-v0" not in capsys.readouterr().out
