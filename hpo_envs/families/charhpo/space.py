"""CharHPO-v0: the whole search space of the character transduction sweeps, with a surrogate."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from hpo_envs.core.engines.box.params import BoxFunction, BoxParams, Evaluations
from hpo_envs.core.engines.box.scalar import BoxEnv
from hpo_envs.core.params import Floats, Ints, Objectives, check_names
from hpo_envs.tables.checks import check_bool, one_of, shown
from hpo_envs.tables.datasets.charhpo import SWEEPS, build, model, space

CALLED = tuple(
    {"task": task, "lang": lang, "architecture": architecture, "table": f"{task}-{lang}-{architecture}"}
    for task, lang, architecture in SWEEPS
)
"""Options of `reset` that select each task, in the order of `build.NAMES`."""


class Sweeps(BoxFunction):
    """Objective function: the surrogate of the sweeps, on some of the 24 tasks.

    Args:
        numbers: (k,) the tasks, as indices into `build.NAMES`.
        noise: Whether results have noise around the prediction.
    """

    options = tuple(CALLED[0])

    def __init__(self, numbers: Ints, noise: bool) -> None:
        self.numbers, self.noise, self.model = numbers, noise, model.load()
        self.tables = tuple(model.table(build.NAMES[t]) for t in numbers)
        self.spaces = tuple(table.space for table in self.tables)
        self.labels = tuple({k: v for k, v in CALLED[t].items() if k != "table"} for t in numbers)
        self.facts = np.array([[x["architecture"] == "transformer", x["task"] == "g2p"] for x in self.labels], float)

    def evaluate(self, tasks: Ints, actions: Floats) -> Evaluations:
        """Evaluate (n, 16) actions, each on its task; `tasks` are (n,) indices in `numbers`."""
        numbers, u = self.numbers[tasks], (actions + 1.0) / 2.0
        configs = space.configurations(numbers % 2, u)
        metrics = self.model.evaluate(numbers, configs, self.noise)
        return Evaluations(configs, {m.name: metrics[:, j] for j, m in enumerate(build.METRICS)}, None)

    def action_of(self, task: int, config: Mapping[str, Any]) -> npt.NDArray[np.float32]:
        """Return the (16,) action for a configuration; it is 0 at missing or inactive hyperparameters.

        Raises:
            ValueError: An unknown name, or an active value outside its range.
        """
        return space.action_of(self.spaces[task], config)

    def choose(self, options: Mapping[str, Any] | None) -> Ints:
        """Return the indices in `numbers` of the tasks that match the `options` of `reset`.

        Raises:
            ValueError: No task matches, or a value is unknown.
        """
        wanted = {k: v for k, v in (options or {}).items() if k in CALLED[0]}
        left = np.isin(self.numbers, matching(wanted, "options")).nonzero()[0]
        if not len(left):
            raise ValueError(f"options must name one of this environment's {len(self.numbers)} tasks, got {wanted}")
        return left


def among(sweeps: Sequence[str] | None, tasks: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Return the elements of `tasks`, sorted, that belong to the sweeps, named as in `g2p-geo-lstm`; all for None.

    Raises:
        ValueError: Unknown sweep, or no task left.
    """
    if sweeps is None:
        return tasks
    wanted = [int(matching({"table": name}, "sweeps")[0]) for name in check_names("sweeps", sweeps)]
    left = np.intersect1d(tasks, np.array(wanted, dtype=np.int64))
    if not len(left):
        raise ValueError(f"sweeps must have a task in common with the other arguments, got {sweeps!r}")
    return left


def matching(wanted: Mapping[str, Any], where: str) -> npt.NDArray[np.int64]:
    """Return the indices in `build.NAMES` of the tasks with these properties; None means any.

    Args:
        wanted: `task`, `lang`, `architecture`, or `table`: the second part of a table's name.
        where: Name of the mapping in error messages; empty for arguments.

    Raises:
        ValueError: A value is unknown, or no task has these properties.
    """
    for key, value in wanted.items():
        known = list(dict.fromkeys(called[key] for called in CALLED))
        if value is not None:
            one_of(f"{where}[{key!r}]" if where else key, value, known)
    left = [t for t, called in enumerate(CALLED) if all(v is None or called[k] == v for k, v in wanted.items())]
    if not left:
        raise ValueError(f"task, lang and architecture must be a combination of Table 6, got {dict(wanted)}")
    return np.array(left, dtype=np.int64)


class CharSpaceEnv(BoxEnv):
    """Hyperparameter optimisation over the whole space of the character transduction sweeps, by a surrogate.

    ## Description
    The search space of Wiemerslage, Gorman and von der Wense (2024): sixteen hyperparameters of an LSTM or a
    transformer, continuous, integer, categorical and conditional, for morphological inflection in eight languages and
    grapheme-to-phoneme conversion in four. Their 24 random searches cover the space with 200 runs each; a surrogate
    fitted to all of them evaluates any configuration on any task. Each reset draws a task: a distribution of problems
    for learned optimizers. One step trains one configuration. One episode is one optimisation run. Id: `CharHPO-v0`.

    ## Action Space
    `Box(-1, 1, (16,), float32)`, in the order of Table 2: `batch_size` (16 to 2048 in steps of 16), `learning_rate`
    (1e-6 to 0.01, logarithmic), `beta1` (0.8 to 0.999), `beta2` (0.98 to 0.999), `label_smoothing` (0 to 0.2),
    `scheduler` (none, reduceonplateau, warmupinvsqrt), `warmup_samples` (100 to 5,000,000 in steps of 100),
    `factor` (0.1 to 0.9), `min_lr` (1e-7 to 0.001), `patience` (1 to 5), `embedding_size` (16 to 512 in steps of 16),
    `hidden_size` (64 to 2048 in steps of 64), `encoder_layers` (transformer 2, 4, 6, 8; LSTM 1, 2), `decoder_layers`
    (2, 4, 6, 8; 1), `attention_heads` (2, 4, 8; 1), `dropout` (0 to 0.5). Values of a grid share [-1, 1] in equal
    parts, so uniform actions draw from the sweeps' distributions. `warmup_samples` is active under warmupinvsqrt only,
    `factor`, `min_lr` and `patience` under reduceonplateau only; inactive ones are 0 and have no effect.
    `env.unwrapped.action_of` maps a dict of natural values to an action; `hpo_envs.tables.user.space.to_configspace`
    exports the space.

    ## Observation Space
    d = 16; two facts: 1 for a transformer, 0 for an LSTM; 1 for grapheme-to-phoneme conversion, 0 for inflection. The
    language is not observed. A cost in seconds is 0 to 1e6.

    ## Rewards
    The metric `objective` of this run, negative if lower is better. Default: development accuracy, the percentage of
    words that are exactly right, 0 to 100; for Haida, with 100 development words, whole per cents.

    ## Starting State
    A task, language and architecture drawn uniformly from the 24, or from those that the arguments or
    `reset(options={"task": "g2p", "lang": "geo", "architecture": "lstm"})` allow (each may be missing; or `{"table":
    "g2p-geo-lstm"}`).

    ## Information
    At reset also: `task`, `lang`, `architecture`; the table has 200 configurations of the task, evaluated by the
    surrogate. At each step: `cost` (float, in `env.unwrapped.cost_unit`), `metrics` (dict of float: `accuracy` in per
    cent, `runtime` in seconds), `config` (dict of natural hyperparameter values, inactive ones 0), `status` (`ok`).

    ## Arguments
    - `task=None`, `lang=None`, `architecture=None`: restrict the tasks to draw from; see `CharHPOEnv` for the names.
    - `sweeps=None`: names of the tasks to draw from, such as `("g2p-geo-lstm",)`; `hpo_envs.benchmarks.tasks` has
      splits.
    - `objective="accuracy"`: or `"runtime"`, or both as a tuple for a vector reward.
    - `cost="evaluations"`: or `"runtime"`, the seconds that the run would take.
    - `budget=200`: in units of `cost`; None = 10,000 evaluations or 1e8 seconds.
    - `noise=True`: whether results have noise like the measured runs. The noise is a function of the task and the
      configuration, so a repeated evaluation has the same result. False gives the smooth prediction.

    ## Table
    Boosted trees on the ranks of accuracies, trained on the twelve tasks of an architecture together, and each task's
    quantile function; `hpo_envs.tables.datasets.charhpo.model` has the details. Held-out error, mean over the 24 tasks
    (five-fold): rank correlation of accuracy 0.86, R2 0.63, mean absolute error 6.0 points (with noise 0.80, 0.54 and
    7.2); runtime within a factor of 1.32. By task in `tables/datasets/charhpo/charhpo_fit.csv`. The 200 rows of a
    task's table have the same results here, up to the rounding of actions to float32.

    ## References
    See `CharHPO-inflection-hun-lstm-v0`.
    """

    @staticmethod
    def _params(
        task: str | None = None, lang: str | None = None, architecture: str | None = None, *, table: None = None,
        objective: Objectives = "accuracy", cost: str = "evaluations", budget: float | None = 200, noise: bool = True,
        sweeps: Sequence[str] | None = None,
    ) -> BoxParams:  # fmt: skip
        if table is not None:
            raise ValueError(f"table must be left out (CharHPO-v0 uses a surrogate), got {shown(table)}")
        choice = {"task": task, "lang": lang, "architecture": architecture}
        function = Sweeps(among(sweeps, matching(choice, "")), check_bool("noise", noise))
        return BoxParams.of(function, build.METRICS, objective, cost, budget, costs=build.METRICS[1:])


CharSpaceVectorEnv = CharSpaceEnv.vectorized()
