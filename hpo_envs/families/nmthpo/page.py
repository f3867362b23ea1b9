"""NMTHPO: hyperparameter optimisation of transformers for machine translation (Zhang and Duh 2020)."""

from collections.abc import Sequence
from typing import Any

from hpo_envs.core.engines.lookup.params import LookupParams
from hpo_envs.core.engines.lookup.scalar import LookupEnv
from hpo_envs.core.params import check_names
from hpo_envs.tables.checks import one_of
from hpo_envs.tables.datasets.nmthpo import PAIRS, SHARED_GRID


class NMTHPOEnv(LookupEnv):
    """Hyperparameter optimisation of transformers for machine translation, one language pair.

    ## Description
    Zhang and Duh (2020) trained 1,983 transformers with Sockeye until they converged, over a grid of six
    hyperparameters, on six language pairs. One step looks up one of them; the reward is its translation quality. One
    episode is one optimisation run.

    Ids: `NMTHPO-zhen-v0` (118 rows), `NMTHPO-ruen-v0` (176), `NMTHPO-jaen-v0` (150), `NMTHPO-enja-v0` (168),
    `NMTHPO-swen-v0` (767), `NMTHPO-soen-v0` (604), and `NMTHPO-{pair}-mo-v0` with two objectives.

    ## Action Space
    `Discrete(rows)`: index of a configuration, in a fixed pseudo-random order. Hyperparameters:
    `bpe` (number of BPE symbols), `layers`, `embed`, `hidden`, `heads`, `init_lr` (Table 1 of the paper).

    ## Observation Space
    The d = 6 features are bpe, layers, embed, hidden, heads, init_lr.

    ## Rewards
    The metric `objective` of this evaluation, negative if lower is better. Default: BLEU, 0 to 100. The `-mo-` ids
    return `[BLEU, -decoding seconds]`, float64 of shape (2,), following MO-Gymnasium (`reward_space`, `reward_dim`).

    ## Starting State
    The table is deterministic, so the seed affects only `shuffle` and `subsample`.

    ## Information
    `metrics`: `bleu`, `perplexity`, `decoding_seconds` in s, `updates`, `gpu_memory` in MiB with 0 = not recorded,
    `parameters`; `status`: `ok`. Re-evaluation gives the same result.

    ## Arguments
    - `pair`: zhen, ruen, jaen, enja, swen or soen.
    - `objective="bleu"`: any metric, or a tuple of metrics for a vector reward.
    - `cost="evaluations"`: or a metric whose goal is `min`, such as `updates` or `decoding_seconds`.
    - `budget="auto"`: in units of `cost`; "auto" = 20 evaluations (the paper's; `-mo-` ids 50, on swen and soen 200),
      or the cost of 20 on average; None = every row once.

    ## Table
    One run per configuration, MIT licence.

    ## References
    Xuan Zhang and Kevin Duh. Reproducible and Efficient Benchmarks for Hyperparameter Optimization of Neural
    Machine Translation Systems. Transactions of the ACL 8:393-408, 2020.
    """

    @staticmethod
    def _params(pair: str = "swen", **kwargs: Any) -> LookupParams:
        one_of("pair", pair, PAIRS)
        return LookupParams.of((f"nmthpo/{pair}",), **kwargs)


NMTHPOVectorEnv = NMTHPOEnv.vectorized()


def _grids(pairs: Sequence[str]) -> tuple[str, ...]:
    """Return the names of the tables of the pairs to draw from; raise a ValueError for invalid pairs."""
    chosen = check_names("pairs", pairs)
    for pair in chosen:
        one_of("pair in pairs", pair, SHARED_GRID)
    if not chosen or len(set(chosen)) < len(chosen):
        raise ValueError(f"pairs must be distinct and not empty, got {pairs!r}")
    return tuple(f"nmthpo/{pair}-grid" for pair in chosen)


class NMTHPOGridEnv(LookupEnv):
    """Hyperparameter optimisation of transformers, with a language pair drawn at each reset.

    ## Description
    A distribution of tasks for learned optimizers: Chinese-English, Russian-English, Japanese-English and
    English-Japanese were trained on the same grid (Zhang and Duh 2020, Table 1), so one action space serves all.
    Id: `NMTHPO-v0`.

    ## Action Space
    `MultiDiscrete([3, 2, 3, 2, 2, 3])`: index of the value of `bpe` (10000, 30000, 50000), `layers` (2, 4), `embed`
    (256, 512, 1024), `hidden` (1024, 2048), `heads` (8, 16) and `init_lr` (3e-4, 6e-4, 1e-3).

    ## Observation Space
    The d = 6 features are bpe, layers, embed, hidden, heads, init_lr. The language pair is not observed; it can only be
    inferred from the rewards.

    ## Rewards
    The metric `objective` of this evaluation, negative if lower is better. Default: BLEU, 0 to 100.

    ## Starting State
    A pair drawn uniformly from `pairs` (or `reset(options={"table": "jaen"})`).

    ## Information
    `status`: `ok`, or `failed` for a cell that the authors left out because training failed or did not learn (footnote
    7). A failed cell has BLEU 0 and the other metrics at the worst value measured on that pair.

    ## Arguments
    - `pairs=("zhen", "ruen", "jaen", "enja")`: the pairs to draw from; `hpo_envs.benchmarks.tasks` has splits.
    - `table=None`: a tuple of complete-grid `Table`s instead of those of the id.
    - `objective="bleu"`: any metric, or a tuple of metrics for a vector reward.
    - `cost="evaluations"`: or a metric whose goal is `min`, such as `updates` or `decoding_seconds`.
    - `budget="auto"`: in units of `cost`; "auto" = 20 evaluations, or the cost of 20 on average; None = all cells.
    - `shuffle`, `subsample`: not for actions on a grid.

    ## Table
    216 cells for each pair, of which 118 (zh-en), 176 (ru-en), 150 (ja-en) and 168 (en-ja) were measured. MIT licence.

    ## References
    See `NMTHPO-swen-v0`.
    """

    @staticmethod
    def _params(*, pairs: Sequence[str] = SHARED_GRID, **kwargs: Any) -> LookupParams:
        return LookupParams.of(_grids(pairs), grid=True, **kwargs)


NMTHPOGridVectorEnv = NMTHPOGridEnv.vectorized()
