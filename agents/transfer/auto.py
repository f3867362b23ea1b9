"""The agent `auto`, which selects an agent by the kind of a problem, its number of rows, its sources and its budget."""

from __future__ import annotations

from typing import Any

from gymnasium.spaces import Box, Discrete

from hpo_envs.agents.base import Agent
from hpo_envs.agents.problem import Problem
from hpo_envs.agents.transfer.learned import has_unseen

FEW_ROWS = 80
"""Number of rows below which neither forecasts of learning curves nor an initial design in the middle helped."""

MANY_ROWS = 1000
"""Number of rows from which a random forest is selected instead of a Gaussian process, if results come at once."""

OBSERVED = 20
"""Number of observations that at least one source must have for `stacked-gp`, `learned` or `quantile-copula`."""


class Auto(Agent):
    """The agent that a table lists for the kind of problem, which the constructor returns in place of an `Auto`.

    | the problem has | agent | measured on | anytime, next best |
    |---|---|---|---|
    | arms, budget known | `sh` | FIESTA | 0.004 at the end, `sr` 0.005 |
    | arms otherwise | `ttts` | FIESTA | 0.015 at the end |
    | parts of a grammar | `regularized-evolution` | NASBenchNLP-cell | 0.291, `random` 0.355 |
    | a box (the default of `tune`) | `box-bo` | `benchmarks/live` | 0.190, Optuna's TPE 0.284 |
    | checkpoints, sources with learning curves | `freeze-thaw` | NMTLC, `transfer` | 0.076, `asha` 0.123 |
    | checkpoints; 80 rows or more, results at once | `freeze-thaw` | NMTLC; NASBenchNLP | 0.102; 0.142 |
    | checkpoints otherwise | `asha` | CharMiniLC | 0.165, `successive-halving` 0.176 |
    | several objectives, sources of 20 observations | `stacked-gp` | NMTHPO-mo, `transfer` | 0.149, `tst-tpe` 0.243 |
    | several objectives | `bo-spread` | NMTHPO-mo | 0.292, `bo` 0.300 |
    | sources of 20 observations with its features | `learned` | NMTHPO, `transfer` | 0.154, `quantile-copula` 0.165 |
    | sources of 20 observations that share a feature | `quantile-copula` | NMTHPO, `transfer` | 0.165 |
    | smaller sources | `warm-gp` | | not measured |
    | 1,000 rows or more, results at once | `smac-like` | NASBenchNLP-ptb-final | 0.403, `regularized-evolution` 0.388 |
    | fewer than 80 rows, results at once | `bo` | CharMini | 0.174, `bo-ei-rbf` 0.195 |
    | anything else | `bo-spread` | NMTHPO; NMTHPO-v0; CharHPO | 0.245; 0.208; 0.193 |

    The first row that applies is used; rows on checkpoints apply to one objective, rows on a number of rows not to
    grids, and "sources of 20 observations" means at least one with 20 or more. The numbers are normalised regret
    (`docs/statistics.md`) on the committed leaderboard, those of a box in `benchmarks/live`. `learned` needs
    weights that were not trained on the problem's languages; without them, the next row applies. With more than two
    objectives, or two of arms, the agent is `random`. It is not the best everywhere: `bo-spread` has 0.450 on
    `CellMini-v0`, `bo-ei-rbf` 0.278; on TaskSet `smac-like` has 0.664, `graph-eif-rbf` 0.481; on TaskSetLC
    `freeze-thaw` has 0.469, `successive-halving` 0.314. `learned-policy`, which was trained on tables of other
    languages, is not selected: without sources it has 0.083 on CharHPO, 0.145 on NMTHPO. The table was fitted to
    all environments but those of StepLaw, TaskSet and TextMini: it is a summary, not a forecast. Agents of other
    packages are not selected, so that nothing depends on the installed packages.

    Formula:
        agent = first row of the table that applies

    Paper: none; choosing an algorithm by features of the problem: John R. Rice. The Algorithm Selection Problem.
    Advances in Computers 15:65-118, 1976.

    Complexity: O(1), then that of the selected agent.

    Example:
        from hpo_envs import run
        runs = run("auto", "FIESTA-tdsa8-v0", seeds=range(2), budget=48)
        runs.best()  # found by `sh`, which it selects here

    Args:
        problem: Any problem.
        seed: Seed of the selected agent.
        late: Whether results may be delayed, or the budget may grow: then no agent that plans with the budget is
            selected, and none that needs each result at once, except on a grammar.
        **hyperparameters: Arguments of the selected agent.
    """

    def __new__(cls, problem: Problem, seed: int, *, late: bool = False, **hyperparameters: Any) -> Any:
        """Make and return the agent whose name `chosen` returns."""
        from hpo_envs.agents.registry import make

        return make(chosen(problem, late), problem, seed, **hyperparameters)


def chosen(problem: Problem, late: bool = False) -> str:
    """Return the registered name of the agent that `Auto` selects for a problem; for `late`, see `Auto`."""
    arms = problem.features is None and problem.mutate is None and isinstance(problem.action_space, Discrete)
    if problem.objectives > 2 or (problem.objectives == 2 and arms):
        return "random"
    if problem.levels is not None and problem.objectives == 1:
        if any(s.curves is not None for s in problem.sources):
            return "freeze-thaw"
        return "freeze-thaw" if problem.rows >= FEW_ROWS and not late else "asha"
    if problem.mutate is not None:
        return "regularized-evolution"
    if isinstance(problem.action_space, Box):
        return "box-bo"
    if arms:
        return "ttts" if late or problem.budget is None else "sh"
    sources = [s for s in problem.sources if s.shared(problem.feature_names)[0]]
    large = [s for s in sources if len(s.rewards) >= OBSERVED]
    if problem.objectives > 1:
        return "stacked-gp" if large else "bo-spread"
    if any(not s.feature_names for s in large) and has_unseen(problem):
        return "learned"
    if sources:
        return "quantile-copula" if large else "warm-gp"
    if not isinstance(problem.action_space, Discrete):
        return "bo-spread"
    if problem.rows >= MANY_ROWS and not late:
        return "smac-like"
    return "bo" if problem.rows < FEW_ROWS and not late else "bo-spread"
