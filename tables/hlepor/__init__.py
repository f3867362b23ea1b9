"""The translation metric hLEPOR, usable without an environment.

    from hpo_envs.tables import hlepor
    hlepor.score("a cat sat", "the cat sat")                        # the paper's formula, default parameters
    hlepor.score(hypotheses, references, "cushlepor-lm-en-de", variant="released")   # (segments,) scores

An evaluation has two stages. `collect` reads each segment once and returns lengths, matches and position differences
(`Statistics`); `segment_scores` then scores a whole corpus under one setting, and `Basis` under many, with a few NumPy
operations. Han et al. 2021, section 2; Han et al. 2013 for the alignment.
"""

from hpo_envs.tables.hlepor.align import MAX_N, VARIANTS, Statistics, collect, collect_variants
from hpo_envs.tables.hlepor.parameters import NAMES, PRESETS, Parameters, preset
from hpo_envs.tables.hlepor.score import Basis, score, segment_scores, tokenize

__all__ = [
    "MAX_N", "NAMES", "PRESETS", "VARIANTS", "Basis", "Parameters", "Statistics", "collect", "collect_variants",
    "preset", "score", "segment_scores", "tokenize",
]  # fmt: skip
