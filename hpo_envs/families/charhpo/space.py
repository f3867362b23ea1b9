"""CharHPO-v0: the whole search space of the character transduction sweeps, answered by a surrogate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from gymnasium.spaces import Box
from gymnasium.vector import AutoresetMode

from hpo_envs.core.env import Floats, HPOEnv, HPOVectorEnv, Info, check_budget, provenance_info
from hpo_envs.core.params import Objective
from hpo_envs.engines.lookup.params import check_objective
from hpo_envs.tables import draws, store
from hpo_envs.tables.datasets.charhpo import build as charhpo
from hpo_envs.tables.datasets.charhpo import model as charhpo_model
from hpo_envs.tables.table import Hyperparameter, Table, nearest

WITHOUT_BUDGET = {"evaluations": 10_000.0, "s": 1e8}
"""What an episode with `budget=None` may spend: a continuous space has no last row to stop at."""

COSTS = {"evaluations": "evaluations", "runtime": "s", "s": "s"}
"""Argument `cost` -> unit."""

WIDTH = 16

_METRICS = tuple(m.name for m in charhpo.METRICS)


class _Space:
    """What both forms share: the tasks to draw from, the surrogate, the spaces."""

    def __init__(
        self,
        choice: tuple[str | None, str | None, str | None],
        table: Any,
        objective: Objective,
        cost: str,
        budget: float | None,
        noise: bool,
        sweeps: Sequence[str] | None,
    ) -> None:
        _check_table(table)
        self.choice = choice
        self.tasks = among(sweeps, matching(dict(zip(_CHOICES, choice, strict=True)), ""))
        self.tables = {t: store.load(charhpo.NAMES[t], "surrogate") for t in self.tasks.tolist()}
        self.model, self.noise = charhpo_model.load(), noise
        objective = check_objective(objective)
        chosen = (objective,) if isinstance(objective, str) else objective
        for name in chosen or ("",):
            if name not in _METRICS:
                raise ValueError(
                    f"objective must be one of {', '.join(_METRICS)}, got {name!r}{nearest(name, _METRICS)}"
                )
        if not isinstance(cost, str) or cost not in COSTS:
            raise ValueError(f"cost must be one of evaluations, runtime, got {cost!r}{nearest(str(cost), [*COSTS])}")
        self.cost_unit, self.objectives, self.vector = COSTS[cost], chosen, not isinstance(objective, str)
        self.budget = check_budget(budget, WITHOUT_BUDGET[self.cost_unit], self.cost_unit)
        self.columns = [_METRICS.index(name) for name in chosen]
        rewarded = [charhpo.METRICS[j] for j in self.columns]
        self.sign = np.array([m.sign for m in rewarded])
        ends = np.array([[m.low, m.high] for m in rewarded]) * self.sign[:, None]
        self.low, self.high = ends.min(axis=1), ends.max(axis=1)
        self.cost_high = 1.0 if self.cost_unit == "evaluations" else charhpo.METRICS[1].high
        self.action_space = Box(-1.0, 1.0, (WIDTH,), np.float32)
        zeros, ones = np.zeros(3), np.ones(3)
        self.observation_space = Box(
            np.concatenate([-np.ones(WIDTH), self.low, [0.0], self.low, zeros]).astype(np.float32),
            np.concatenate([np.ones(WIDTH), self.high, [self.cost_high], self.high, ones]).astype(np.float32),
            dtype=np.float32,
        )

    def evaluate(self, tasks: npt.NDArray[np.int64], actions: Floats) -> tuple[Floats, Floats, Floats, Floats]:
        """Rewards (n, m), costs (n,), metrics (n, 2) and raw configurations (n, 16)."""
        configs = charhpo_model.configurations(tasks % 2, (actions + 1.0) / 2.0)
        metrics = self.model.evaluate(tasks, configs, self.noise)
        costs = np.ones(len(metrics)) if self.cost_unit == "evaluations" else metrics[:, 1].copy()
        return metrics[:, self.columns] * self.sign, costs, metrics, configs

    def drawn(self, options: Mapping[str, Any] | None) -> npt.NDArray[np.int64]:
        """The tasks that an episode may get: those of the environment, narrowed by `options` of `reset`."""
        wanted = {k: v for k, v in (options or {}).items() if k in (*_CHOICES, "table")}
        if not wanted:
            return self.tasks
        found = np.intersect1d(self.tasks, matching(wanted, "options"))
        if not len(found):
            raise ValueError(f"options must name one of this environment's {len(self.tasks)} tasks, got {wanted}")
        return found


_CHOICES = ("task", "lang", "architecture")


def among(sweeps: Sequence[str] | None, tasks: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Those of `tasks` that are among the sweeps, named as `g2p-geo-lstm`; all of them for None.

    Raises:
        ValueError: No such sweep, or none left.
    """
    if sweeps is None:
        return tasks
    chosen = (sweeps,) if isinstance(sweeps, str) else tuple(sweeps)
    wanted = [int(matching({"table": name}, "sweeps")[0]) for name in chosen]
    found = np.intersect1d(tasks, np.array(wanted, dtype=np.int64))
    if not len(found):
        raise ValueError(f"sweeps must leave at least one task to draw, got {sweeps!r}")
    return found


def matching(wanted: Mapping[str, Any], where: str) -> npt.NDArray[np.int64]:
    """Indices into `charhpo.NAMES` of the tasks with these properties; None stands for any.

    Args:
        wanted: `task`, `lang`, `architecture`, or `table`: the second part of a table's name.
        where: For errors: the name of the mapping, or empty for arguments.

    Raises:
        ValueError: No task has that property, or the combination.
    """
    found = []
    for t, name in enumerate(charhpo.NAMES):
        if all(value is None or _facts(name)[key] == value for key, value in wanted.items()):
            found.append(t)
    for key, value in wanted.items():
        known = [
            charhpo.parts(n)[_CHOICES.index(key)] if key != "table" else n.partition("/")[2] for n in charhpo.NAMES
        ]
        if value is not None and value not in known:
            label = f"{where}[{key!r}]" if where else key
            raise ValueError(
                f"{label} must be one of {', '.join(dict.fromkeys(known))}, got {value!r}{nearest(str(value), known)}"
            )
    if not found:
        raise ValueError(f"task, lang and architecture must go together as in Table 6, got {dict(wanted)}")
    return np.array(found, dtype=np.int64)


def _facts(name: str) -> dict[str, str]:
    """What `reset` options may name of a table."""
    return dict(zip(_CHOICES, charhpo.parts(name), strict=True)) | {"table": name.partition("/")[2]}


def _check_table(table: Any) -> None:
    if isinstance(table, Table) or table not in store.KINDS:
        hint = nearest(table, store.KINDS) if isinstance(table, str) else ""
        raise ValueError(f"table must be one of {', '.join(store.KINDS)}, got {table!r}{hint}")
    if table == "measured":
        raise store.TableNotInstalled(
            "CharHPO-v0 has no measured table: nobody trained every configuration. Use table='surrogate', or the "
            "sweeps themselves: CharHPO-{task}-{lang}-{architecture}-v0."
        )


def action_of(space: tuple[Hyperparameter, ...], config: Mapping[str, Any]) -> npt.NDArray[np.float32]:
    """The (16,) action that sets a configuration of natural values; missing or inactive ones are set to 0.

    Raises:
        ValueError: An unknown name, or an active value outside its range.
    """
    names = [h.name for h in space]
    for name in config:
        if name not in names:
            raise ValueError(f"config must have names of {', '.join(names)}, got {name!r}{nearest(name, names)}")
    action = np.zeros(len(space))
    for j, h in enumerate(space):
        active = h.condition is None or config.get(h.condition[0]) in h.condition[1]
        if h.name not in config or not active:
            continue
        action[j] = 2.0 * _share(h, config[h.name]) - 1.0
    return np.clip(action, -1.0, 1.0).astype(np.float32)


def _share(h: Hyperparameter, value: Any) -> float:
    """Where in [0, 1] a natural value lies; the middle of its interval for values of a grid."""
    if h.values:
        if value not in h.values:
            raise ValueError(f"config[{h.name!r}] must be one of {h.values}, got {value!r}")
        return (h.values.index(value) + 0.5) / len(h.values)
    if isinstance(value, (str, bool)) or not h.low <= value <= h.high:
        raise ValueError(f"config[{h.name!r}] must be a number in [{h.low:g}, {h.high:g}], got {value!r}")
    if h.kind == "int":
        return float((value - h.low) // charhpo_model.WARMUP_STEP + 0.5) / charhpo_model.WARMUPS
    low, high, x = (np.log(h.low), np.log(h.high), np.log(value)) if h.log else (h.low, h.high, value)
    return float((x - low) / (high - low))


class CharSpaceEnv(HPOEnv):
    """Hyperparameter optimisation over the whole space of the character transduction sweeps, by a surrogate.

    ## Description
    The search space of Wiemerslage, Gorman and von der Wense (2024): sixteen hyperparameters of an LSTM or a
    transformer, continuous, integer, categorical and conditional, for morphological inflection in eight languages and
    grapheme-to-phoneme conversion in four. Their 24 random searches cover the space with 200 runs each; a surrogate
    fitted to all of them answers any configuration of any task. Each reset draws a task: a distribution of problems for
    learned optimisers. One step trains one configuration. One episode is one optimisation run. Id: `CharHPO-v0`.

    ## Action Space
    `Box(-1, 1, (16,), float32)`, in the order of Table 2: `batch_size` (16 to 2048 in steps of 16), `learning_rate`
    (1e-6 to 0.01, logarithmic), `beta1` (0.8 to 0.999), `beta2` (0.98 to 0.999), `label_smoothing` (0 to 0.2),
    `scheduler` (none, reduceonplateau, warmupinvsqrt), `warmup_samples` (100 to 5,000,000 in steps of 100),
    `factor` (0.1 to 0.9), `min_lr` (1e-7 to 0.001), `patience` (1 to 5), `embedding_size` (16 to 512 in steps of 16),
    `hidden_size` (64 to 2048 in steps of 64), `encoder_layers` (transformer 2, 4, 6, 8; LSTM 1, 2), `decoder_layers`
    (2, 4, 6, 8; 1), `attention_heads` (2, 4, 8; 1), `dropout` (0 to 0.5). Values of a grid share [-1, 1] in equal
    parts, so uniform actions draw from the sweeps' distributions. `warmup_samples` counts under warmupinvsqrt only,
    `factor`, `min_lr` and `patience` under reduceonplateau only; elsewhere they are 0 and change nothing. The wrapper
    `hpo_envs.integrations.config_space.DictActions` takes natural values instead, `action_of` maps them to an action,
    and `hpo_envs.integrations.config_space.to_configspace` exports the space.

    ## Observation Space
    `Box`, float32. With m objectives:

    | index | content | range |
    |---|---|---|
    | 0 to 15 | last action | -1 to 1 |
    | 16 to 15 + m | its reward(s) | bounds of the metric, negative if lower is better |
    | 16 + m | its cost | 0 to 1 evaluation, or 0 to 1e6 seconds |
    | 17 + m to 16 + 2m | best reward(s) so far, each objective on its own | as the reward |
    | 17 + 2m | 1 for a transformer, 0 for an LSTM | 0 to 1 |
    | 18 + 2m | 1 for grapheme-to-phoneme conversion, 0 for inflection | 0 to 1 |
    | 19 + 2m | budget left, as a share | 0 to 1 |

    The language is not observed.

    ## Rewards
    The metric `objective` of this run, negative if lower is better. Default: development accuracy, the percentage of
    words that are exactly right, 0 to 100; for Haida, with 100 development words, whole per cents.

    ## Starting State
    A task, language and architecture drawn uniformly from the 24, or from those that the arguments or
    `reset(options={"task": "g2p", "lang": "geo", "architecture": "lstm"})` leave (each may be missing; or
    `{"table": "g2p-geo-lstm"}`). Nothing evaluated: last action 0, reward(s) at the lower bound, full budget.

    ## Episode End
    Terminated when the budget is spent (the evaluation that exceeds it still counts). Never truncated by itself.

    ## Information
    At reset: `table` (the embedded sweep of the drawn task), `kind` (always `surrogate`), `sha256`, `task`, `lang`,
    `architecture`.
    At each step: `cost` (float, in `env.unwrapped.cost_unit`), `metrics` (dict of float: `accuracy` in per cent,
    `runtime` in seconds), `config` (dict of natural hyperparameter values, inactive ones 0), `status` (`ok`).

    ## Arguments
    - `task=None`, `lang=None`, `architecture=None`: restrict what is drawn; see `CharHPOEnv` for the names.
    - `sweeps=None`: names of the tasks to draw from, such as `("g2p-geo-lstm",)`; `hpo_envs.tasks` has splits.
    - `table="auto"`: or `"surrogate"`; there is no measured table of the whole space.
    - `objective="accuracy"`: or `"runtime"`, or both as a tuple for a vector reward.
    - `cost="evaluations"`: or `"runtime"`, the seconds that the run would take.
    - `budget=200`: in units of `cost`; None = 10,000 evaluations or 1e8 seconds.
    - `noise=True`: whether runs scatter about the surrogate as the measured ones do. Noise is a function of the task
      and the configuration: asking again gives the same answer. False gives the smooth prediction.

    ## Table
    Boosted trees on the ranks of accuracies, trained on the twelve tasks of an architecture together, and each task's
    quantile function; `hpo_envs.tables.datasets.charhpo.model` has the details. Held-out error, mean over the 24 tasks
    (five-fold): rank correlation of accuracy 0.86, R2 0.65, mean absolute error 5.7 points (with noise 0.71, 0.38 and
    9.1); runtime within a factor of 1.32. By task in `tables/datasets/charhpo/charhpo_fit.csv` and in
    `env.unwrapped.table.provenance.notes`. The 200 rows of a task's embedded sweep get the same answers here, up to
    the rounding of actions to float32.

    ## References
    Adam Wiemerslage, Kyle Gorman and Katharina von der Wense. Quantifying the Hyperparameter Sensitivity of Neural
    Networks for Character-level Sequence-to-Sequence Tasks. EACL 2024.

    ## Version History
    - v0: initial version.
    """

    def __init__(
        self,
        task: str | None = None,
        lang: str | None = None,
        architecture: str | None = None,
        *,
        table: Any = "auto",
        objective: Objective = "accuracy",
        cost: str = "evaluations",
        budget: float | None = 200,
        noise: bool = True,
        sweeps: Sequence[str] | None = None,
    ) -> None:
        super().__init__()
        s = self._s = _Space((task, lang, architecture), table, objective, cost, budget, noise, sweeps)
        self.cost_unit, self.objectives, self.budget = s.cost_unit, s.objectives, s.budget
        self.action_space, self.observation_space = s.action_space, s.observation_space
        self.reward_bounds = np.stack([s.low, s.high], axis=1)
        if s.vector:
            self.reward_space = Box(s.low, s.high, dtype=np.float64)
            self.reward_dim = len(s.objectives)
        self._task = s.tasks[:1]

    @property  # type: ignore[misc]
    def table(self) -> Table:  # type: ignore[override]
        """The embedded sweep of this episode's task."""
        return self._s.tables[int(self._task[0])]

    @property
    def fixed(self) -> bool:
        """Whether every episode has the same search space."""
        return len(np.unique(self._s.tasks % 2)) == 1

    def action_of(self, config: Mapping[str, Any]) -> npt.NDArray[np.float32]:
        """The (16,) action that sets a configuration of this episode's architecture; see `action_of`."""
        return action_of(self.table.space, config)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, Info]:
        """Starts an episode on a drawn task; see Starting State for `options`."""
        super().reset(seed=seed)
        s = self._s
        among = s.drawn(options)
        key = self._new_key(seed)
        self._task = among[[draws.below(draws.mix(key, 0), len(among))]]
        self._left, self._best = self.budget, s.low.copy()
        m, (arch, g2p) = len(s.objectives), _kind_of(self._task)
        observation = np.zeros(s.observation_space.shape, np.float32)
        observation[WIDTH : WIDTH + m] = observation[WIDTH + m + 1 : -3] = s.low
        observation[-3:] = arch[0], g2p[0], 1.0
        facts = dict(zip(_CHOICES, charhpo.parts(self.table.name), strict=True))
        return observation, provenance_info(self.table) | facts

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, Info]:
        """Evaluates one configuration.

        Raises:
            ValueError: The action is outside the space.
            ResetNeeded: No episode is running.
        """
        s = self._s
        checked = _checked(action, (WIDTH,), "action")
        if not self._live:
            raise self._not_live()
        rewards, costs, metrics, configs = s.evaluate(self._task, checked[None])
        np.maximum(self._best, rewards[0], out=self._best)
        cost = float(costs[0])
        self._left -= cost
        terminated = self._left <= 0.0
        self._live = not terminated
        arch, g2p = _kind_of(self._task)
        tail = [arch[0], g2p[0], max(self._left, 0.0) / self.budget]
        observation = np.concatenate([checked, rewards[0], [min(cost, s.cost_high)], self._best, tail])
        np.clip(observation, s.observation_space.low, s.observation_space.high, out=observation)
        space = self.table.space
        info: Info = {
            "cost": cost,
            "metrics": dict(zip(_METRICS, metrics[0].tolist(), strict=True)),
            "config": {h.name: h.natural(v) for h, v in zip(space, configs[0], strict=True)},
            "status": "ok",
        }
        reward = rewards[0] if s.vector else float(rewards[0, 0])
        return observation.astype(np.float32), reward, terminated, False, info


class CharSpaceVectorEnv(HPOVectorEnv):
    """`CharSpaceEnv` for many episodes side by side; their configurations are answered in one call."""

    def __init__(
        self,
        num_envs: int = 1,
        task: str | None = None,
        lang: str | None = None,
        architecture: str | None = None,
        *,
        table: Any = "auto",
        objective: Objective = "accuracy",
        cost: str = "evaluations",
        budget: float | None = 200,
        noise: bool = True,
        sweeps: Sequence[str] | None = None,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        copy: bool = True,
    ) -> None:
        s = self._s = _Space((task, lang, architecture), table, objective, cost, budget, noise, sweeps)
        self.cost_unit, self.objectives, self.budget = s.cost_unit, s.objectives, s.budget
        super().__init__(num_envs, s.observation_space, s.action_space, autoreset_mode, copy)
        self.reward_bounds = np.stack([s.low, s.high], axis=1)
        if s.vector:
            self.reward_space = Box(s.low, s.high, dtype=np.float64)
            self.reward_dim = len(s.objectives)
        n = self.num_envs
        self._task = np.full(n, s.tasks[0])
        self._best, self._left = np.tile(s.low, (n, 1)), np.full(n, self.budget)
        self._observations = np.zeros((n, *s.observation_space.shape), np.float32)

    @property  # type: ignore[misc]
    def table(self) -> Table:  # type: ignore[override]
        """The embedded sweep of the first environment's task."""
        return self._s.tables[int(self._task[0])]

    def _start(self, index: npt.NDArray[np.intp], keys: draws.Keys, options: dict[str, Any] | None) -> Info:
        s, m = self._s, len(self.objectives)
        among = s.drawn(options)
        self._task[index] = among[draws.below_many(draws.mix_many(keys, 0), len(among))]
        self._best[index], self._left[index] = s.low, self.budget
        first = np.zeros((len(index), self._observations.shape[1]), np.float32)
        first[:, WIDTH : WIDTH + m] = first[:, WIDTH + m + 1 : -3] = s.low
        first[:, -3], first[:, -2] = _kind_of(self._task[index])
        first[:, -1] = 1.0
        self._observations[index] = first
        said = [
            provenance_info(s.tables[t]) | dict(zip(_CHOICES, charhpo.parts(charhpo.NAMES[t]), strict=True))
            for t in self._task[index].tolist()
        ]
        return {key: np.array([one[key] for one in said], dtype=object) for key in said[0]}

    def _advance(self, actions: Any) -> tuple[npt.NDArray[Any], npt.NDArray[np.bool_], Info]:
        s, m, o = self._s, len(self.objectives), self._observations
        rewards, costs, metrics, configs = s.evaluate(self._task, actions)
        np.maximum(self._best, rewards, out=self._best)
        self._left -= costs
        terminated = self._left <= 0.0
        o[:, :WIDTH], o[:, WIDTH : WIDTH + m], o[:, WIDTH + m] = actions, rewards, costs
        o[:, WIDTH + m + 1 : -3], o[:, -1] = self._best, np.maximum(self._left, 0.0) / self.budget
        o[:, -3], o[:, -2] = _kind_of(self._task)
        np.clip(o, s.observation_space.low, s.observation_space.high, out=o)
        space = s.tables[int(s.tasks[0])].space
        config: Info = {}
        for j, h in enumerate(space):
            raw = configs[:, j]
            config[h.name] = np.array(h.values, dtype=object)[raw.astype(np.intp)] if h.kind == "categorical" else raw
        info: Info = {
            "cost": costs,
            "metrics": {name: metrics[:, j] for j, name in enumerate(_METRICS)},
            "config": config,
            "status": np.full(self.num_envs, "ok", dtype=object),
        }
        return rewards if s.vector else rewards[:, 0].copy(), terminated, info

    def _observe(self) -> npt.NDArray[np.float32]:
        return self._observations.copy() if self.copy else self._observations

    def _check_actions(self, actions: Any) -> Floats:
        return _checked(actions, (self.num_envs, WIDTH), "actions")


def _kind_of(task: npt.NDArray[np.int64]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.bool_]]:
    """For each task 1 if it is a transformer's, and whether it is grapheme-to-phoneme conversion."""
    return task % 2, task >= 2 * len(charhpo.LANGUAGES["inflection"])


def _checked(action: Any, shape: tuple[int, ...], argument: str) -> Floats:
    """Actions as float64.

    Raises:
        ValueError: Not numbers of that shape in [-1, 1].
    """
    try:
        array = np.asarray(action, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        array = np.empty(0)
    # A NaN fails both comparisons, so the test must be for inside, not for outside.
    if array.shape != shape or not bool(((array >= -1.0) & (array <= 1.0)).all()):
        raise ValueError(f"{argument} must be numbers in [-1, 1] of shape {shape}, got {action!r}")
    return array
