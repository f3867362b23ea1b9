"""FunctionHPO and FunctionLC: a user's function as an environment."""

from pathlib import Path
from typing import Any

from hpo_envs.core.engines.function.params import FunctionParams
from hpo_envs.core.engines.function.scalar import FunctionEnv


class FunctionHPOEnv(FunctionEnv):
    """Hyperparameter optimisation of a function of your own.

    ## Description
    A training function as an environment: one step calls it with a configuration, for real, and rewards the score that
    it returns. One episode is one optimisation run. `hpo_envs.tune` is the same loop, durable and parallel.

    Id: `FunctionHPO-v0`, made with the function and its search space:
    `gym.make("FunctionHPO-v0", function=train, space={"lr": (1e-5, 1e-1, "log")}, budget=50)`.

    `train(config)` gets a dict of the active hyperparameters. It returns its score: a number, or a mapping with the
    objective, optionally `cost`, and any other numbers.

    ## Action Space
    `Discrete(candidates)`: a list of seeded quasi-random configurations that grows with the budget, for agents that
    choose among candidates; those of a smaller list come first in a larger one. With `actions="box"`, `Box(-1, 1, (d,),
    float32)`: one number per hyperparameter, for agents that search a box; the values of a list share [-1, 1] in equal
    parts, ranges are linear or logarithmic; a number beyond a bound is set to the bound, and NaN is refused.

    ## Observation Space
    `Box`, float32. With f features of a candidate (a choice has one for each value), or numbers of the action, and m
    objectives:

    | index | content | range |
    |---|---|---|
    | 0 to f - 1 | features of the last candidate, or the last action | 0 to 1, or -1 to 1 |
    | f to f + m - 1 | its reward(s) | bounds of the score, negative if lower is better |
    | f + m | its cost | 0 to 1e6 |
    | f + m + 1 to f + 2m | best reward(s) so far, per objective | as the reward |
    | f + 2m + 1 | fraction of the budget left | 0 to 1 |

    Values beyond a bound are clipped in the observation, not in `info`.

    ## Rewards
    The objective that the function returned, negative if lower is better. A call that raises, or that returns no score,
    has failed; one whose score is not finite has diverged. Both are rewarded with the worst score that `bounds` allow.

    ## Starting State
    Nothing evaluated: features 0, reward(s) at the lower bound, full budget. The seed changes nothing that the function
    does not change itself.

    ## Information
    At reset: `table`, `kind`, `sha256` of the list of candidates, in which nothing is measured yet; `action_mask`.
    At each step: `cost` (float: what the function returned as `cost`, else its seconds), `spent` (float: what the step
    takes of the budget), `metrics` (dict of float: all numbers that it returned), `config` (dict of the active
    hyperparameters), `status` (`ok`, `failed` or `diverged`), `error` (the traceback, empty if there is none),
    `action_mask` ((candidates,) int8, 1 = not yet evaluated; absent on a box), `clipped` (bool, only on a box: whether
    a number of the action lay outside of it). In the batched form `config` and
    `metrics` are arrays of dicts.

    ## Arguments
    - `actions="candidates"`: or `"box"`.
    - `budget=50`: in units of `budget_unit`; None = every candidate once, or 10,000 evaluations on a box.
    - `budget_unit="evaluations"`: or `"cost"`.
    """

    @staticmethod
    def _params(
        function: Any, space: Any, *, actions: str = "candidates", budget: float | None = 50, **kwargs: Any
    ) -> FunctionParams:
        _only(kwargs, "epochs", "checkpoints")
        return FunctionParams.of(function, space, actions=actions, budget=budget, **kwargs)


FunctionHPOVectorEnv = FunctionHPOEnv.vectorized()


class FunctionLCEnv(FunctionEnv):
    """Multi-fidelity hyperparameter optimisation of a function of your own.

    ## Description
    A training function that can be paused, as an environment: one step trains one configuration on to an epoch, for
    real, and pays only the new part. One episode is one optimisation run.

    Id: `FunctionLC-v0`, made with the function, its search space and the number of epochs:
    `gym.make("FunctionLC-v0", function=train, space=space, epochs=27)`. The function has one of two forms:

    - a generator `train(config)` that yields a score (or a mapping, as of `FunctionHPO-v0`) after each epoch. It is
      paused between two epochs, with all that it has in memory;
    - `train(config, resume_from, epochs)`, which trains until so many epochs are done in all and returns the score.
      `resume_from` is a `pathlib.Path` of the configuration's own folder, empty at first, in which the function leaves
      what it needs to continue.

    ## Action Space
    `MultiDiscrete([candidates, epochs])`: the configuration, in a list of seeded quasi-random ones that grows with the
    budget, and the epoch to train to, counted from 0.

    ## Observation Space
    `Box`, float32. With f features of a candidate (a choice has one for each value) and m objectives:

    | index | content | range |
    |---|---|---|
    | 0 to f - 1 | the last candidate's features | 0 to 1 |
    | f | fraction of the epochs that it was trained for | 0 to 1 |
    | f + 1 to f + m | its reward(s) | bounds of the score, negative if lower is better |
    | f + m + 1 | its cost | 0 to 1e6 |
    | f + m + 2 to f + 2m + 1 | best reward(s) so far, per objective | as the reward |
    | f + 2m + 2 | fraction of the budget left | 0 to 1 |

    Values beyond a bound are clipped in the observation, not in `info`.

    ## Rewards
    The objective at that epoch, negative if lower is better. A call that raises, or that returns no score, has failed;
    one whose score is not finite has diverged; neither is trained any further, and both are rewarded with the worst
    score that `bounds` allow.

    ## Starting State
    Nothing trained: features 0, reward(s) at the lower bound, full budget. The seed changes nothing that the function
    does not change itself.

    ## Episode End
    Also after as many steps as there are candidates x epochs.

    ## Information
    At reset: `table`, `kind`, `sha256` of the list of candidates, in which nothing is measured yet; `action_mask`.
    At each step: `cost` (float: what the new epochs cost, as the function says, else their seconds; 0 for an epoch that
    was reached before), `spent` (float: what the step takes of the budget), `metrics` (dict of float: all numbers that
    it returned at that epoch), `config` (dict of the active hyperparameters), `status` (`ok`, `failed`, `diverged`, or
    `truncated`: the generator ended before that epoch), `error` (the traceback, empty if there is none), `reached`
    (index of the epoch that the metrics are of), `best` (best reward of the configuration so far), `action_mask`
    ((candidates + epochs,) int8: candidates that can be trained further, then every epoch). In the batched form
    `config` and `metrics` are arrays of dicts.

    ## Arguments
    - `epochs=27`: the most that a configuration is trained.
    - `budget=None`: in units of `budget_unit`; None = 20 full trainings.
    - `budget_unit="epochs"`: or `"evaluations"` (steps), or `"cost"`.
    - `checkpoints=None`: folder of the configurations' folders; None: a temporary one of each episode.
    """

    @staticmethod
    def _params(
        function: Any,
        space: Any,
        *,
        epochs: int = 27,
        budget: float | None = None,
        budget_unit: str = "epochs",
        checkpoints: str | Path | None = None,
        **kwargs: Any,
    ) -> FunctionParams:
        _only(kwargs, "actions")
        if budget is None and budget_unit == "epochs":
            budget = 20 * epochs
        given = {"epochs": epochs, "budget": budget, "budget_unit": budget_unit, "checkpoints": checkpoints}
        return FunctionParams.of(function, space, **given, **kwargs)  # type: ignore[arg-type]


FunctionLCVectorEnv = FunctionLCEnv.vectorized()


def _only(kwargs: dict[str, Any], *other: str) -> None:
    """Refuse arguments of the other family.

    Raises:
        TypeError: One of them is there.
    """
    for name in other:
        if name in kwargs:
            raise TypeError(f"this environment has no argument {name!r}")
