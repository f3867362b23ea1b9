"""The study of cells writes numbers and pictures."""

from __future__ import annotations

import csv
from pathlib import Path

from hpo_envs.benchmarks.papers.common import Reproduction
from hpo_envs.benchmarks.papers.nasbenchnlp import cells as study


def test_parts_write_numbers_and_pictures(tmp_path: Path) -> None:
    for name, trials in (("figure2", None), ("figure7", 3), ("figure11", None)):
        study.PARTS[name](Reproduction(tmp_path, trials=trials))
        assert list(csv.DictReader((tmp_path / f"{name}.csv").open()))
        assert (tmp_path / f"{name}.png").stat().st_size > 5000
        assert (tmp_path / f"{name}.svg").is_file()
