"""One agent for all problems: it picks another one by what a problem offers."""

from __future__ import annotations

from typing import Any

from gymnasium.spaces import Box, Discrete

from hpo_envs.agents.base import Agent
from hpo_envs.agents.problem import Problem
from hpo_envs.agents.transfer.learned import has_unseen

MANY_FEATURES = 40
"""Features above which they describe something else than hyperparameters, such as the graph of a cell."""

MANY_ROWS = 1000
"""Rows from which on a rung of successive halving is wide enough to beat its asynchronous form."""

OBSERVED = 20
"""Observations of a source from which on a model of it is asked, not its best observations alone."""


class Auto(Agent):
    """The agent that was best on problems of a kind; making it makes that agent.

    | the problem has | agent | measured on | anytime, next best |
    |---|---|---|---|
    | arms | `ttts` | FIESTA | .001 at the end, `sr` .002 |
    | parts of a grammar | `regularized-evolution` | NASBenchNLP-cell | .400, `random` .417 |
    | a box | `box-bo` | CushLEPOR | .015, `tpe` .036 |
    | checkpoints, sources with learning curves | `freeze-thaw` | NMTLC, `transfer` | .077, `asha` .124 |
    | checkpoints; 1,000 rows, results at once | `successive-halving` | NASBenchNLP | .195, `asha` .241 |
    | checkpoints otherwise | `asha` | NMTLC | .134, `hyperband` .173 |
    | several objectives, sources of 20 observations | `tst-tpe` | AutoML-2022 | all 21 points, `warm-gp` 20 |
    | several objectives | `bo-spread` | NMTHPO-mo | .292, `bo` .304 |
    | sources of 20 observations with its features | `learned` | NMTHPO, `transfer` | .154, `quantile-copula` .165 |
    | sources of 20 observations that share a feature | `quantile-copula` | NMTHPO, `transfer` | .165, `tst-tpe` .184 |
    | smaller sources | `warm-gp` | | not measured |
    | more than 40 features | `regularized-evolution` | NASBenchNLP-ptb-final | .418 (`tpe-features` .391) |
    | anything else | `bo-spread` | NMTHPO; NMTHPO-v0 | .237; .217, `bo` .238 |

    The first row that holds counts. The numbers are normalised regret (`docs/statistics.md`) on the committed
    leaderboard; those of transfer are of 100 replicates of six tables (`docs/transfer.md`), and of 20 of eight
    (`docs/learning-curves.md`), those of two objectives of ten runs (`docs/agents-nmt.md`). `learned` needs weights
    that have not seen the problem's languages; without, the next row holds. All were looked at to write the table: it
    is a summary of these environments, no forecast. Agents of other packages, such as `tpe-features` with Optuna, are
    not picked, so that nothing depends on what is installed.

    Formula:
        agent = first row of the table that holds

    Paper: of our own; choosing an algorithm by features of the problem: John R. Rice. The Algorithm Selection Problem.
    Advances in Computers 15:65-118, 1976.

    Complexity: O(1), then that of the agent that it picks.

    Args:
        problem: Any problem.
        seed: Of the agent that it picks.
        late: Whether results may come late, or the budget may grow, so that no plan can be made of it.
        **hyperparameters: Arguments of the agent that it picks.
    """

    def __new__(cls, problem: Problem, seed: int, *, late: bool = False, **hyperparameters: Any) -> Any:
        """Returns the agent of `chosen`."""
        from hpo_envs.agents.registry import make

        return make(chosen(problem, late), problem, seed, **hyperparameters)


def chosen(problem: Problem, late: bool = False) -> str:
    """Registered name of the agent for a problem; none of another package.

    Args:
        problem: What is known of it.
        late: See `Auto`.
    """
    if problem.levels is not None:
        if problem.objectives == 1 and any(s.curves is not None for s in problem.sources):
            return "freeze-thaw"
        return "successive-halving" if problem.rows >= MANY_ROWS and not late else "asha"
    if problem.mutate is not None:
        return "regularized-evolution"
    if isinstance(problem.action_space, Box):
        return "box-bo"
    if problem.features is None and isinstance(problem.action_space, Discrete):
        return "ttts"
    sources = [s for s in problem.sources if s.shared(problem.feature_names)[0]]
    large = [s for s in sources if len(s.rewards) >= OBSERVED]
    if problem.objectives > 1:
        return "tst-tpe" if large else "bo-spread"
    if any(not s.feature_names for s in large) and has_unseen(problem):
        return "learned"
    if sources:
        return "quantile-copula" if large else "warm-gp"
    features = 0 if problem.features is None else problem.features.shape[1]
    if features > MANY_FEATURES:
        return "regularized-evolution"
    return "bo-spread"
