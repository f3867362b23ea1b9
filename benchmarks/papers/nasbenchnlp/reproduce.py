"""The paper's figures and tables again, as far as the released data allow.

Figure 3 (hyperparameter selection), figures 9 and 13 (word similarity) and Table 3 (GLUE) need data that were never
released.
"""

from __future__ import annotations

import functools

from hpo_envs.benchmarks.papers import common
from hpo_envs.benchmarks.papers.nasbenchnlp import cells, search

PARTS: common.Parts = {**cells.PARTS, **search.PARTS}

QUICK = 1
"""Trials of `--quick`."""

main = functools.partial(common.reproduce, "nasbenchnlp", PARTS)
