"""Public names of the package of benchmarks, and references of spaces that no table lists."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from hpo_envs import benchmarks
from hpo_envs.benchmarks import references, speed
from hpo_envs.benchmarks.analysis import scales
from hpo_envs.benchmarks.comparison.comparison import Comparison
from hpo_envs.tables import store
from tests.helpers import raises, rejects

MODULES = 91
"""Largest number of modules of this project that a comparison loads, besides records of families and data sets."""


def test_comparison_is_imported_where_it_is_asked_for() -> None:
    assert benchmarks.Comparison is Comparison
    with raises("module 'hpo_envs.benchmarks' has no attribute 'Comparisons'", AttributeError):
        _ = benchmarks.Comparisons
    script = "import sys, hpo_envs.benchmarks; sys.exit('hpo_envs.benchmarks.comparison' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0


def test_comparison_of_two_agents_loads_few_modules(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    words = "compare --env NMTHPO-swen-v0 --agents random,bo --seeds 2 --budget 12 --out".split()
    script = (
        "import sys; from hpo_envs.commands.main import main; "
        f"code = main({[*words, str(tmp_path)]!r}); "
        "print(code, sum(n.startswith('hpo_envs') and not n.startswith(RECORDS) for n in sys.modules))".replace(
            "RECORDS", repr(("hpo_envs.families.", "hpo_envs.tables.datasets."))
        )
    )
    done = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True)
    code, count = map(int, done.stdout.splitlines()[-1].split())
    assert code == 0
    assert count <= MODULES


def test_short_search_of_box_finds_next_to_what_is_committed() -> None:
    env: Any = gym.make("CushLEPOR-ted-ende-v0", disable_env_checker=True)
    best, reference = references.on_box(env.unwrapped.params, 0, points=256, generations=6)
    named = scales.references().items()
    (known,) = (r for name, r in named if "ted-ende measured" in name and name.endswith(" pearson"))
    assert reference == pytest.approx(known[1][0], abs=0.01)
    assert reference < best <= known[0][0] + 1e-6
    assert (best, reference) == references.on_box(env.unwrapped.params, 0, points=256, generations=6)


def test_references_are_of_tables_that_are_at_hand_and_named_as_runs_name_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(references, "on_box", lambda params, task: (float(task), -1.0))
    monkeypatch.setattr(references, "of_cells", lambda env_id, kwargs, known: (known, -50.0))
    references.main(["--out", str(tmp_path / "found.json")])
    found = json.loads((tmp_path / "found.json").read_text())
    assert found["command"] == "python -m hpo_envs.benchmarks.references"
    names = {r["name"] for r in found["references"]}
    assert len(names) == len(found["references"])
    assert names <= scales.references().keys()
    kept = {"name": found["references"][0]["name"], "best": 7.0, "reference": 5.0}
    (tmp_path / "found.json").write_text(json.dumps({"references": [kept, {**kept, "name": "gone"}]}))
    references.main(["--missing", "--out", str(tmp_path / "found.json")])
    again = json.loads((tmp_path / "found.json").read_text())
    assert again["references"] == [kept, *found["references"][1:]]
    cell = store.load("nasbenchnlp/wikitext2")
    (reference,) = (r for r in found["references"] if "cell" in r["name"])
    assert reference["best"] == -np.nanmin(cell.values[:, :, -1, 0])


def test_unknown_part_of_speed_is_named() -> None:
    rejects("PART must be one of scalar, batched, .* did you mean 'scalar'", speed.report, ["scaler"])


def test_cells_are_searched_through_environment() -> None:
    best, reference = references.of_cells("NASBenchNLP-cell-v0", {}, -100.0, effort=0.02)
    assert -50.0 <= reference < best < -4.0
    assert references.of_cells("NASBenchNLP-cell-v0", {}, -1.0, effort=0.004)[0] == -1.0
