"""The paper's figures and tables again, as far as the released data allow.

Figure 3 (hyperparameter selection), figures 9 and 13 (word similarity) and Table 3 (GLUE) need data that were never
released.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from hpo_envs.benchmarks.papers.nasbenchnlp import cells_study, search

Part = Callable[[Path, int | None, int, int], None]

PARTS: dict[str, Part] = {**cells_study.PARTS, **search.PARTS}
"""Name of a part -> what computes it: `part(out, trials, jobs, seed)`."""


def main(out: Path, *, trials: int | None, jobs: int, seed: int, only: str | None) -> int:
    """Runs all parts, or one."""
    for name, part in PARTS.items():
        if only in (None, name):
            part(out, trials, jobs, seed)
    return 0
