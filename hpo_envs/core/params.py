"""`Params`, the parameters of environments; checks of actions and arguments, budgets, objectives, reward bounds."""

import copy
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Literal

import gymnasium as gym
import numpy as np
import numpy.typing as npt
from gymnasium.spaces import Box, Discrete

from hpo_envs.core.subsample import WHOLE, View
from hpo_envs.tables import Floats as Floats
from hpo_envs.tables import Ints as Ints
from hpo_envs.tables import draws, frames
from hpo_envs.tables.checks import nearest, one_of, shown
from hpo_envs.tables.table import Hyperparameter, Metric, Table, is_number
from hpo_envs.tables.user.space import POSITION, Points, axes_of

ActionKind = Literal["rows", "grid", "fidelity", "arms", "box", "graph"]
Objectives = str | tuple[str, ...]
ROUNDING = 1e-9
"""Part of a budget that counts as none."""

_INT, _UINT = np.dtype(np.int64), np.dtype(np.uint64)


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Params:
    """Parameters shared by all episodes of an environment; engines add the arrays that their steps read.

    Attributes:
        kind: What an action is: a row (`rows`), a value of each hyperparameter of a complete grid (`grid`), a row and
            a checkpoint (`fidelity`), an arm, or a batch of arms, with random scores (`arms`), numbers in a `box`, or
            a part of a `graph` that several actions build.
        tables: The tables; each episode uses one of them.
        rewarded: The rewarded metrics.
        vector: Whether the reward is a vector, one number per objective.
        action_space: Space of one action.
        observation_space: Space of one observation.
        cost_unit: Unit of `info["cost"]`.
        budget: Budget of an episode, in `budget_unit`.
        budget_unit: Unit of `budget`; if empty, the cost unit. If the two differ, `info["spent"]` is the budget used by
            a step.
        workers: Number of simulated parallel workers.
        view: The rows of the table that an episode has, and their order.
        known: (m,) best known rewards and (m,) reference rewards that the user gives; else None.
    """

    kind: ActionKind
    tables: tuple[Table, ...]
    rewarded: tuple[Metric, ...]
    vector: bool
    action_space: gym.Space[Any]
    observation_space: Box
    cost_unit: str
    budget: float
    budget_unit: str = ""
    workers: int = 1
    view: View = WHOLE
    known: tuple[Floats, Floats] | None = None

    mutate: ClassVar[Any] = None
    """None, or, if the space has a grammar, a function `mutate(candidate, rng)` that returns a mutated candidate, and a
    random one for None."""
    moves: ClassVar[int] = 1
    """Largest number of actions per evaluation."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "budget_unit", self.budget_unit or self.cost_unit)

    @cached_property
    def rest(self) -> float:
        """Budget left at which an episode ends: 0, up to the rounding of sums of costs such as 0.1."""
        return ROUNDING * self.budget

    @property
    def table(self) -> Table:
        """The first table."""
        return self.tables[0]

    @cached_property
    def rows(self) -> int:
        """Number of rows of the first table."""
        return len(self.table)

    @property
    def levels(self) -> Floats | None:
        """(L,) resource of each checkpoint if actions are pairs of a row and a checkpoint; else None."""
        return None

    @property
    def live(self) -> bool:
        """Whether steps call a user's function or train, so that evaluations are expensive."""
        return False

    @property
    def bounded(self) -> bool:
        """Whether rewards have the bounds of their metrics; False if missing bounds were substituted."""
        return True

    @cached_property
    def objectives(self) -> tuple[str, ...]:
        """Names of the rewarded metrics."""
        return tuple(m.name for m in self.rewarded)

    @cached_property
    def signs(self) -> Floats:
        """(m,) 1, or -1 for objectives where lower is better."""
        return np.array([m.sign for m in self.rewarded])

    @cached_property
    def reward_bounds(self) -> Floats:
        """(m, 2) lowest and highest reward by the definition of the metrics, never from the table."""
        return bounds_of(self.rewarded)

    @cached_property
    def low(self) -> Floats:
        """(m,) lowest possible rewards."""
        return self.reward_bounds[:, 0]

    @cached_property
    def high(self) -> Floats:
        """(m,) highest possible rewards."""
        return self.reward_bounds[:, 1]

    @cached_property
    def reward_space(self) -> Box | None:
        """Space of a vector reward; None where the reward is a number."""
        return Box(self.low, self.high, dtype=np.float64) if self.vector else None

    @property
    def reward_dim(self) -> int:
        """Number of objectives."""
        return len(self.objectives)

    @cached_property
    def actions(self) -> int:
        """Number of rows or arms in an episode."""
        return self.view.size(self.rows)

    @property
    def steps(self) -> int | None:
        """Largest number of steps (with workers: submissions) of an episode whatever its budget; None: no limit."""
        return None

    @property
    def masked(self) -> bool:
        """Whether `info` has an action mask; False for values of a grid, points of a box and batches of arms."""
        return self.kind in ("rows", "fidelity", "graph") or (self.kind == "arms" and not self.action_space.shape)

    @property
    def options(self) -> tuple[str, ...]:
        """Keys that the `options` of `reset` may have."""
        return ()

    def action_of(self, config: Any, table: int = 0) -> Any:
        """Return the action that sets natural values on the table with index `table`; ValueError if there is none."""
        raise ValueError(f"action_of: actions in {self.action_space} do not set hyperparameters")

    def truth(self, table: int | Ints, actions: npt.NDArray[Any]) -> Floats | None:
        """Return the true mean rewards of actions, (k,) or (k, m); None if unknown.

        Args:
            table: Index in `tables`, one for all actions or (k,) one for each.
            actions: (k, ...) actions that name rows by their index in the table, not in an episode.
        """
        return None

    def repeats_of(self, keys: npt.NDArray[np.uint64], table: int | Ints, actions: npt.NDArray[Any]) -> dict[str, Ints]:
        """Return (k,) table indices `row`, `level` and `repeat` of evaluations; empty unless they look up rows.

        Args:
            keys: (k,) key of the episode of each evaluation.
            table: Index in `tables`, one for all evaluations or (k,) one for each.
            actions: (k, ...) all actions of these episodes, in the order of their results, as in `truth`.
        """
        return {}

    @cached_property
    def axes(self) -> tuple[dict[str, Any], ...]:
        """A dict for each hyperparameter, see `tables.user.space.axes_of`; empty if actions have none.

        If the tables differ in an axis, only what they share is kept, see `alike`.
        """
        if self.kind not in ("rows", "grid", "fidelity"):
            return ()
        return alike([t.space for t in self.tables])

    def problem(self, rows: npt.NDArray[np.int64] | None = None) -> dict[str, Any]:
        """Return the arguments of an agent's `Problem`, by name; `rows` (k,): table row of each action, None = all."""
        table = self.table
        by_row = isinstance(self.action_space, Discrete) or self.kind == "fidelity"
        features = table.features if by_row and table.feature_names else None
        return {
            "action_space": self.action_space, "features": features if rows is None else None,
            "feature_names": () if features is None else table.feature_names, "levels": self.levels,
            "objectives": self.reward_dim, "budget": self.budget, "unit": self.budget_unit, "mutate": self.mutate,
            "reward_bounds": self.reward_bounds, "base": features, "index": rows if features is not None else None,
            "axes": self.axes, "points": self.coordinates if features is not None and self.axes else None,
        }  # fmt: skip

    @cached_property
    def coordinates(self) -> Floats:
        """(rows, d) coordinates in [0, 1] of the first table's rows on `axes`."""
        return Points(self.table.space).unit(self.table.configs)


def alike(spaces: Sequence[tuple[Hyperparameter, ...]]) -> tuple[dict[str, Any], ...]:
    """Return the axes that several spaces share, see `tables.user.space.axes_of`.

    An axis whose natural values differ keeps only its coordinates; if these differ, too, the dict is empty, which
    stands for a real number.
    """
    first, *others = [axes_of(space) for space in dict.fromkeys(spaces)]
    shared = []
    for j, axis in enumerate(first):
        differ = {
            key for other in others for key in axis.keys() | other[j].keys() if other[j].get(key) != axis.get(key)
        }
        kept = axis if not differ else {key: axis[key] for key in POSITION & axis.keys()}
        shared.append({} if differ & POSITION else kept)
    return tuple(shared)


def ordinals(values: Ints, keys: draws.Keys) -> Ints:
    """Return the (k,) ordinal, from 0, of each value among equal values with an equal key."""
    from pandas import DataFrame

    counted = DataFrame({"value": values, "key": keys}).groupby(["value", "key"], sort=False).cumcount()
    return np.asarray(counted, np.int64)


def _shared(name: str) -> Any:
    """Return a property that reads an attribute of `params`."""
    return property(lambda env: getattr(env.params, name))


class HasParams:
    """Base class of scalar and vectorized environments, which read `params`.

    Few attributes are stored in the environment itself, because Python reads those of small objects faster.

    Attributes:
        params: The parameters of the environment.
        reward_space: Space of a vector reward, as in MO-Gymnasium; absent for scalar rewards.
    """

    params: Params
    reward_space: Box
    _table_index: Any
    tables: tuple[Table, ...] = _shared("tables")
    cost_unit: str = _shared("cost_unit")
    objectives: tuple[str, ...] = _shared("objectives")
    levels: Floats | None = _shared("levels")
    workers: int = _shared("workers")
    reward_bounds: Floats = _shared("reward_bounds")
    reward_dim: int = _shared("reward_dim")
    budget: float

    def __repr__(self) -> str:
        return f"<{self._name()}: {', '.join(f'{name} {value}' for name, value in self._facts().items())}>"

    def _repr_html_(self) -> str:
        return frames.facts(self._name(), self._facts())

    def render(self) -> Any:
        """Warn that nothing is rendered, like Gymnasium's environments: rendering needs a `render_mode`."""
        gym.logger.warn(f"render_mode must be given when {self._name()} is made, got None: nothing is drawn")

    def action_of(self, config: Any) -> Any:
        """Return the action that sets a configuration of natural values, on the table of this (or the first) episode.

        Raises:
            ValueError: There is no such configuration, or actions are neither points of a box nor candidates of a
                function.
        """
        return self.params.action_of(config, int(np.ravel(self._table_index)[0]))

    def _show(self, render_mode: str | None) -> None:
        """Set the render mode; unless it is None, record the episodes from now on, for `render`."""
        self.render_mode = render_mode
        if render_mode is not None:
            from hpo_envs.core.rendering import Watch

            watch: Any = Watch(self, render_mode)
            self.step, self.reset, self.render = watch.step, watch.reset, watch.render  # type: ignore[method-assign]

    def _name(self) -> str:
        spec = getattr(self, "spec", None)
        return type(self).__name__ if spec is None else str(spec.id)

    def _facts(self) -> dict[str, Any]:
        """Return facts that describe the environment in its `repr`, by name."""
        p, envs = self.params, getattr(self, "num_envs", 0)
        table = f"{p.table.name} ({p.table.provenance.kind})" if len(p.tables) == 1 else f"one of {len(p.tables)}"
        facts = {"table": table, "actions": p.action_space, "objectives": ", ".join(p.objectives)}
        return {**facts, "budget": f"{self.budget:g} {p.budget_unit}", **({"episodes": envs} if envs else {})}

    def _adopt(self, params: Params) -> None:
        self.params, self.budget = params, params.budget
        if params.reward_space is not None:
            self.reward_space = copy.deepcopy(params.reward_space)

    @property
    def action_masks(self) -> Callable[[], npt.NDArray[np.bool_]]:
        """`action_masks()` returns a mask of what can be useful now: bool, (k,) or, vectorized, (num_envs, k).

        The masks of the parts of a MultiDiscrete action are concatenated, as maskable PPO takes them.

        Raises:
            AttributeError: There is no useful mask, so `hasattr` is False.
        """
        if not self.params.masked:
            raise AttributeError(f"action_masks: there is no useful mask of actions in {self.params.action_space}")
        return self._masks

    def _masks(self) -> npt.NDArray[np.bool_]:
        """Return the masks of `action_masks`."""
        raise NotImplementedError


def is_integer(value: Any) -> bool:
    """Return whether a value is an int of Python or NumPy, but neither bool nor timedelta64."""
    return isinstance(value, (int, np.integer)) and not isinstance(value, (bool, np.timedelta64))


def unmasked(actions: Any, argument: str = "actions") -> Any:
    """Return an action, or a batch of actions; ValueError for a masked array, whose masked values would be used."""
    if type(actions) is not np.ndarray and isinstance(actions, np.ma.MaskedArray):
        raise ValueError(f"{argument} must not be a masked array, got {actions!r}")
    return actions


def array_of(actions: Any, argument: str = "actions") -> npt.NDArray[Any]:
    """Return an action, or a batch, as an array, 0-d of objects if NumPy cannot convert it; errors as in `unmasked`."""
    given = unmasked(actions, argument)
    try:
        return np.asarray(given)
    except Exception:
        return np.array(None)


def check_action(action: Any, limits: int | list[int]) -> list[int]:
    """Return an action, one int or several, as a list of Python ints; ValueError if it is invalid.

    `limits` is one above the largest value: an int for a single int, a list for several.
    """
    array = action if type(action) is np.ndarray else array_of(action, "action")
    sizes = [limits] if isinstance(limits, int) else limits
    if array.dtype.kind in "iu" and array.ndim == (sizes is limits):
        parts: list[int] = array.tolist() if array.ndim else [int(array)]
        if len(parts) == len(sizes):
            for part, size in zip(parts, sizes):  # noqa: B905 (the loop and the keyword are most of the time)
                if not 0 <= part < size:
                    break
            else:
                return parts
    form = "an int" if isinstance(limits, int) else f"{len(sizes)} ints"
    raise ValueError(f"action must be {form} in [0, {limits}), got {action!r}")


def check_ints(
    actions: Any, shape: tuple[int, ...], limits: int | list[int] | np.uint64 | npt.NDArray[np.uint64]
) -> npt.NDArray[np.int64]:
    """Return a batch of actions as int64 of this shape, the same array if it is one; ValueError if it is invalid.

    `limits` is one above the largest value, one for all or one per part of an action; a uint64 array is the fastest.
    """
    if type(actions) is np.ndarray and actions.dtype == _INT and actions.shape == shape:
        # The common case, checked in one pass: negative numbers are huge as unsigned ones.
        below = np.maximum.reduce(actions.view(_UINT)) < limits
        if below is np.True_ or below.all():
            return actions
    array = array_of(actions)
    if array.shape != shape or array.dtype.kind not in "iu":
        raise ValueError(f"actions must be ints of shape {shape}, got shape {array.shape} and dtype {array.dtype}")
    array = array.astype(np.int64, copy=False)
    outside = array < 0
    outside |= array >= limits
    if outside.any():
        bad = array[outside.reshape(len(array), -1).any(axis=1)][0].tolist()
        raise ValueError(f"actions must be ints in [0, {np.asarray(limits).tolist()}), got {bad}")
    return array


def check_box(actions: Any, shape: tuple[int, ...], argument: str) -> tuple[Floats, npt.NDArray[np.bool_]]:
    """Return actions in a box as float64, clipped to [-1, 1], and bool flags of those that had a number outside.

    The flags lack the last axis of `shape`, the numbers of one action. ValueError unless the actions are numbers or
    bools of this shape without NaN; `argument` is their name in its message.
    """
    given = array_of(actions, argument)
    array = given.astype(np.float64) if given.dtype.kind in "fiub" else np.empty(0)
    inside = np.asarray(np.logical_and.reduce(np.abs(array) <= 1.0, axis=-1))  # a NaN fails the comparison
    if array.shape == shape and inside.all():
        return array, ~inside
    if array.shape != shape or np.isnan(array).any():
        raise ValueError(f"{argument} must be numbers of shape {shape} without NaN, got {shown(actions)}")
    return array.clip(-1.0, 1.0), ~inside


Checker = Callable[[Any], Any]
"""Function that returns a valid action as an int or a new array, and raises a ValueError for any other."""


def checker(space: gym.Space[Any]) -> Checker:
    """Return a function that validates actions of a `Discrete`, `MultiDiscrete` or `Box`; ValueError for others."""
    if isinstance(space, gym.spaces.Discrete):
        return _discrete(int(space.start), int(space.start + space.n))
    if isinstance(space, gym.spaces.MultiDiscrete):
        return _numbers(space, space.start, space.start + space.nvec - 1, "iu", "ints")
    if isinstance(space, gym.spaces.Box):
        return _numbers(space, space.low, space.high, "fiu", "numbers")
    raise ValueError(f"action_space must be Discrete, MultiDiscrete or Box, got {space}")


def recommendation(check: Checker, value: Any, several: bool) -> Any:
    """Validate the recommendation of an agent and return it as `check` does; ValueError if it is invalid.

    With `several`, because a candidate takes several actions, an array of actions is valid, too.
    """
    if several and isinstance(value, np.ndarray) and value.ndim and len(value):
        try:
            return np.stack([np.asarray(check(v)) for v in value])
        except ValueError:
            pass
    return check(value)


def _discrete(low: int, high: int) -> Checker:
    def check(value: Any) -> int:
        if type(value) is int:
            row = value
        elif is_integer(value) or (isinstance(value, np.ndarray) and value.shape == () and value.dtype.kind in "iu"):
            row = int(value)
        else:
            raise ValueError(f"must be an int in [{low}, {high}), got {shown(value)}")
        if not low <= row < high:
            raise ValueError(f"must be an int in [{low}, {high}), got {row}")
        return row

    return check


def _numbers(space: gym.Space[Any], low: npt.NDArray[Any], high: npt.NDArray[Any], kinds: str, name: str) -> Checker:
    def check(value: Any) -> Any:
        array = np.array(None if isinstance(value, np.ma.MaskedArray) else array_of(value))
        if array.shape != space.shape or array.dtype.kind not in kinds:
            raise ValueError(f"must be {name} of shape {space.shape}, got {shown(value)}")
        if not ((array >= low) & (array <= high)).all():  # NaN is neither
            raise ValueError(f"must be {name} in {space}, got {shown(array)}")
        return array

    return check


def check_options(options: Any, names: tuple[str, ...]) -> None:
    """Raise ValueError unless the `options` of `reset` are None or a mapping whose keys are among `names`."""
    if options is None:
        return
    if not isinstance(options, Mapping):
        raise ValueError(f"options must be None or a mapping, got {options!r}")
    for name in options:
        if name not in names:
            known = ", ".join(names) or "(none)"
            raise ValueError(f"keys of options must be among {known}, got {name!r}{nearest(str(name), names)}")


def check_int(name: str, value: Any, low: int = 1, high: int = 10**9, *, optional: bool = False) -> int:
    """Return an integer argument as an int; ValueError, which names it, unless it is an int in [low, high].

    Larger numbers are mistakes or need too much memory. With `optional`, the message says that None is allowed, which
    callers check.
    """
    if not is_integer(value) or value < low:
        raise ValueError(f"{name} must be {'None or ' * optional}an int >= {low}, got {shown(value)}")
    if value > high:
        raise ValueError(f"{name} must be at most {high}, got {shown(value)}")
    return int(value)


def check_names(argument: str, names: Any) -> tuple[str, ...]:
    """Return a name, or a tuple or list of names, as a tuple; ValueError for anything else, which names `argument`."""
    chosen = (names,) if isinstance(names, str) else names
    if not isinstance(chosen, (tuple, list)) or not all(isinstance(name, str) for name in chosen):
        raise ValueError(f"{argument} must be a name or a tuple of names, got {shown(names)}")
    return tuple(chosen)


def check_budget(budget: Any, whole: float, unit: str, auto: float | None = None) -> float:
    """Return the validated budget as a float: `whole` for None and, if `auto` is given, `auto` for `"auto"`.

    ValueError for any other budget that is not a positive finite number (in evaluations: a whole number).
    """
    if budget is None:
        return whole
    if auto is not None and isinstance(budget, str):
        one_of("budget", budget, ("auto",), ", None or a number > 0")
        return auto
    if not is_number(budget):
        raise ValueError(f"budget must be None or a number > 0, got {shown(budget)}")
    if not (math.isfinite(budget) and budget > 0):
        raise ValueError(f"budget must be None or a finite number > 0 ({unit}), got {shown(budget)}")
    if unit == "evaluations" and budget != int(budget):
        raise ValueError(f"budget must be None or an int >= 1 (evaluations), got {budget!r}")
    return float(budget)


def check_objective(objective: Any) -> Objectives:
    """Return `objective`, a name or a tuple of names (a list becomes one); ValueError for anything else."""
    return objective if isinstance(objective, str) else check_names("objective", objective)


def rewarded(objective: Objectives, metrics: tuple[Metric, ...]) -> tuple[Metric, ...]:
    """Return the metrics that `objective` names, that agents may see; ValueError for none, unknown or equal ones."""
    names = tuple(m.name for m in metrics)
    wanted = check_names("objective", objective)
    if not wanted:
        raise ValueError(f"objective must name at least one of {', '.join(names)}, got ()")
    if len({*wanted}) < len(wanted):
        raise ValueError(f"objective must name a metric only once, got {shown(objective)}")
    return tuple(metrics[names.index(one_of("objective", name, names))] for name in wanted)


def bounds_of(metrics: tuple[Metric, ...]) -> Floats:
    """Return the read-only (m, 2) lowest and highest rewards: bounds of metrics, negated where lower is better."""
    bounds = np.sort(np.array([[m.sign * m.low, m.sign * m.high] for m in metrics]), axis=1)
    bounds.setflags(write=False)
    return bounds


def box(*parts: tuple[int, Any, Any]) -> Box:
    """Return the float32 `Box` of observations with parts (count, lowest, highest); bounds are numbers or arrays."""
    low, high = (np.concatenate([np.broadcast_to(p[side], p[0]) for p in parts]) for side in (1, 2))
    return Box(low.astype(np.float32), high.astype(np.float32), dtype=np.float32)


def kind_of(env: Any) -> ActionKind | None:
    """Return the kind of actions of an environment, also vectorized or wrapped; None for one without `params`."""
    params: Params | None = getattr(env.unwrapped, "params", None)
    return None if params is None else params.kind
