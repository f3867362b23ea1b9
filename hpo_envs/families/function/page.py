"""FunctionHPO and FunctionLC: a user's function as an environment."""

from pathlib import Path
from typing import Any

from hpo_envs.core.engines.function.params import FunctionParams
from hpo_envs.core.engines.function.scalar import FunctionEnv


class FunctionHPOEnv(FunctionEnv):
    """Hyperparameter optimisation of your own function.

    ## Description
    A training function as an environment: one step calls it with a configuration, and the returned score is the reward.
    One episode is one optimisation run. `hpo_envs.tune` is the same loop, stored and parallel.

    Id: `FunctionHPO-v0`, made with the function and its search space:
    `gym.make("FunctionHPO-v0", function=train, space={"lr": (1e-5, 1e-1, "log")}, budget=50)`.

    `train(config)` gets a dict of the active hyperparameters. It returns its score: a number, or a mapping with the
    objective, optionally `cost`, and any other numbers.

    ## Action Space
    `Discrete(candidates)`: a list of seeded quasi-random configurations that grows with the budget, for agents that
    choose among candidates; a larger list begins with the candidates of a smaller one. With `actions="box"`, `Box(-1,
    1, (d,), float32)`: one number per hyperparameter, for agents that search a box; the values of a list share [-1, 1]
    in equal parts, ranges are linear or logarithmic; a number beyond a bound is set to the bound, and NaN raises
    `ValueError`.

    ## Rewards
    The objective that the function returned, negative if lower is better. A call that raises, or that returns no score,
    has failed; one whose score is not finite has diverged. Both are rewarded with the worst score that `bounds` allow.

    ## Starting State
    The episode's seed has no effect on the results of the function.

    ## Information
    `cost` is what the function returned as `cost`, else its seconds, `metrics` are its other finite numbers;
    `action_mask` is (candidates,), 1 = not yet evaluated.

    ## Arguments
    - `actions="candidates"`: or `"box"`.
    - `budget=50`: in units of `budget_unit`; None = every candidate once, 10,000 evaluations
      on a box, or a cost of 1e6.
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
    """Multi-fidelity hyperparameter optimisation of your own function.

    ## Description
    A training function that can be paused, as an environment: one step trains one configuration up to an epoch, by
    calling the function, and pays only for the new part. One episode is one optimisation run.

    Id: `FunctionLC-v0`, made with the function, its search space and the number of epochs:
    `gym.make("FunctionLC-v0", function=train, space=space, epochs=27)`. The function has one of two forms:

    - a generator `train(config)` that yields a score (or a mapping, as in `FunctionHPO-v0`) after each epoch. It is
      paused between epochs and keeps its state in memory;
    - `train(config, resume_from, epochs)`, which trains until `epochs` epochs are done in total and returns the score.
      `resume_from` is the `pathlib.Path` of the configuration's own folder, empty at first, in which the function
      stores its state.

    ## Action Space
    `MultiDiscrete([candidates, epochs])`: the configuration, in a list of seeded quasi-random ones that grows with the
    budget, and the epoch to train to, counted from 0.

    ## Rewards
    The objective at that epoch, negative if lower is better. A call that raises, or that returns no score, has failed;
    one whose score is not finite has diverged; neither is trained any further, and both are rewarded with the worst
    score that `bounds` allow.

    ## Starting State
    The episode's seed has no effect on the results of the function.

    ## Episode End
    Also after as many steps as there are candidates x epochs.

    ## Information
    `cost` is the cost of the new epochs that the function returned, else their seconds (0 for an epoch reached before),
    `metrics` are its other finite numbers at that epoch, and `status` may be `truncated`: the generator ended
    before that epoch. Also `reached` (index of the epoch of the metrics) and `best` (best reward of the
    configuration so far). `action_mask` is (candidates + epochs,): candidates that can be trained further, then every
    epoch.

    ## Arguments
    - `epochs=27`: the most epochs that a configuration is trained for.
    - `budget=None`: in units of `budget_unit`; None = 20 full trainings in epochs, as many steps as candidates in
      evaluations, or a cost of 1e6.
    - `budget_unit="epochs"`: or `"evaluations"` (steps), or `"cost"`.
    - `checkpoints=None`: folder of a folder per episode, which has one per configuration; None: temporary ones.
    """

    @staticmethod
    def _params(
        function: Any, space: Any, *, epochs: int = 27, budget: float | None = None, budget_unit: str = "epochs",
        checkpoints: str | Path | None = None, **kwargs: Any,
    ) -> FunctionParams:  # fmt: skip
        _only(kwargs, "actions")
        if budget is None and budget_unit == "epochs":
            budget = 20 * epochs
        given = {"epochs": epochs, "budget": budget, "budget_unit": budget_unit, "checkpoints": checkpoints}
        return FunctionParams.of(function, space, **given, **kwargs)  # type: ignore[arg-type]


FunctionLCVectorEnv = FunctionLCEnv.vectorized()


def _only(kwargs: dict[str, Any], *other: str) -> None:
    """Raise a TypeError if there is an argument of the other family."""
    for name in other:
        if name in kwargs:
            raise TypeError(f"this environment has no argument {name!r}")
