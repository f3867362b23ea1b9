"""Base classes of environments, scalar and vectorized: seeding, `reset` options, autoreset, copies of arrays.

Engines in `core/engines/` subclass both, and the environment of a family subclasses the engine's scalar form;
`tests/contracts/test_envs.py` checks that the two forms agree.
"""

from __future__ import annotations

import abc
import copy as copying
import inspect
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

import gymnasium as gym
import numpy as np
import numpy.typing as npt
from gymnasium.error import ResetNeeded
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from hpo_envs.core.family import complete
from hpo_envs.core.infos import Info, InfoColumn, MaskedInfo, blank, column, mapped, merge, provenance_info, scatter
from hpo_envs.core.params import HasParams, Params, check_int, check_options, is_integer, unmasked
from hpo_envs.tables import draws
from hpo_envs.tables.checks import shown
from hpo_envs.tables.table import Table

MODES, FPS = ("human", "rgb_array", "ansi"), 4
"""Metadata of rendering: modes and frames per second."""

SUBMITTED = frozenset({"cost", "finished", "action", "clock"})
"""Keys of infos, with several simulated workers, at steps at which nothing finishes."""


def _check_seed(seed: Any) -> int:
    if not is_integer(seed) or seed < 0:
        raise ValueError(f"seed must be an int >= 0, got {seed!r}")
    return int(seed)


class HPOEnv(HasParams, gym.Env[Any, Any]):
    """Base class of scalar environments: seeding by episode keys, rendering, errors.

    Each episode has a 64-bit key; the environment's random draws in it are hashes of that key and of counters, so the
    order of evaluations does not change them. `reset(seed=s)` makes the keys of the coming episodes a function of `s`
    alone.

    `step` raises ValueError for an invalid action and ResetNeeded where no episode is running.

    Args:
        *args: `params`, the parameters of the environment; a family has its own arguments instead.
        render_mode: None, `human`, `rgb_array` or `ansi`, see `hpo_envs.core.rendering`.
        **kwargs: Further arguments of a family.

    ## Rewards
    What counts is the best configuration found. The sum of rewards favours repeating a good configuration, which is no
    search: train with the rewards of `hpo_envs.wrappers` (`for_training`).

    ## Information
    Where there is a mask, `env.action_space.sample(info["action_mask"])` draws an action without useless values, and
    `env.unwrapped.action_masks()` is the same mask as bool, for maskable policies. Numbers are NumPy scalars
    (`env.unwrapped.config(action)` is a configuration in Python's own types, for `json.dumps`). Some texts are also
    encoded as numbers: at reset `table_code` (index in `env.unwrapped.tables`), `kind_code` (0 measured, 1 surrogate),
    `sha256_code` ((32,) uint8); at each step `status_code` (0 `ok`, 1 `failed`, 2 `diverged`, 3 `truncated`).

    ## Version History
    - v0: initial version.
    """

    metadata: dict[str, Any] = {"render_modes": [*MODES], "render_fps": FPS}  # noqa: RUF012

    _table_index: int = 0

    batched: ClassVar[type[HPOVectorEnv]]
    """Vectorized environment class of the engine."""

    _params: ClassVar[Callable[..., Params]] = staticmethod(lambda params: params)
    """Function that makes `Params` from a family's arguments; an engine takes `Params` directly."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Complete the page of a family with those of its bases, and set its signature."""
        super().__init_subclass__(**kwargs)
        cls.__signature__ = _signature(cls._params, render_mode=None)  # type: ignore[attr-defined]
        for base in cls.__bases__:
            page, shared = cls.__dict__.get("__doc__") or "", base.__doc__ or ""
            if page and "## " in shared and "## Description" not in shared:
                cls.__doc__ = complete(page, shared)

    def __init__(self, *args: Any, render_mode: str | None = None, **kwargs: Any) -> None:
        params = self._params(*args, **kwargs)
        self._adopt(params)
        self._show(render_mode)
        self.action_space = copying.deepcopy(params.action_space)
        self.observation_space = copying.deepcopy(params.observation_space)
        self._stream: int | None = None
        self._episode = self._key = 0
        self._live = False

    @classmethod
    def vectorized(cls, **members: Any) -> type[HPOVectorEnv]:
        """Return the vectorized class of a family, `XVectorEnv` for `XEnv`, with its arguments and these `members`."""
        forms: dict[str, Any] = {"autoreset_mode": AutoresetMode.NEXT_STEP, "copy": True, "render_mode": None}

        def init(self: Any, num_envs: int = 1, *args: Any, **kwargs: Any) -> None:
            given = {name: kwargs.pop(name, default) for name, default in forms.items()}
            cls.batched.__init__(self, num_envs, cls._params(*args, **kwargs), **given)

        members |= {
            "__init__": init,
            "__module__": cls.__module__,
            "__doc__": f"`{cls.__name__}` vectorized over `num_envs` episodes, with the same arguments.",
            "__signature__": _signature(cls._params, "num_envs", **forms),
        }
        # Some libraries look for `VectorEnv` among the direct bases of a class only.
        return type(cls.__name__.removesuffix("Env") + "VectorEnv", (cls.batched, VectorEnv), members)

    @property
    def table(self) -> Table:
        """The table of this episode; `table.provenance.kind` is `measured` or `surrogate`."""
        return self.tables[self._table_index]

    @property
    def rows(self) -> npt.NDArray[np.int64]:
        """(k,) table rows of this episode, in the order of the indices that actions use; may be read-only."""
        return self.params.view.rows(self._key, len(self.table))

    def config(self, action: Any) -> dict[str, Any]:
        """Return the configuration that an action evaluates in this episode: natural values as Python types, for JSON.

        The numbers in `info["config"]` are NumPy's, which wrappers turn into tensors. Empty if actions have no
        hyperparameters.

        Raises:
            ValueError: The action is not valid.
        """
        config = self._config(action).items()
        return {name: value.item() if isinstance(value, np.generic) else value for name, value in config}

    def _config(self, action: Any) -> dict[str, Any]:
        """See `config`."""
        if not self.action_space.contains(unmasked(action, "action")):
            raise ValueError(f"action must be in {self.action_space}, got {shown(action)}")
        return {}

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        """Seed the environment and check the options; engines then start the episode.

        Raises:
            ValueError: `options` is not a mapping or has unknown keys; `seed` is not an int >= 0.
        """
        check_options(options, self.params.options)
        return super().reset(seed=None if seed is None else _check_seed(seed))

    def _new_key(self, seed: int | None) -> int:
        """Start the next episode and return its key; a seed restarts the sequence of keys."""
        if seed is not None:
            self._stream, self._episode = draws.mix(int(seed), 0), 0
        elif self._stream is None:
            self._stream = int(self.np_random.integers(2**63))
        self._episode += 1
        self._live = True
        self._key = draws.mix(self._stream, self._episode)
        return self._key

    def _not_live(self) -> ResetNeeded:
        return ResetNeeded("step() must follow reset(): no episode is running. Call env.reset() first.")


class HPOVectorEnv(HasParams, VectorEnv[Any, Any, Any], abc.ABC):
    """Base class of vectorized environments: seeding, autoreset, masks of `info`.

    Engines implement `_start`, `_advance` and `_check_actions`, and `_snapshot` where actions have masks.
    `reset(seed=s)` gives environment i the episodes of a scalar environment reset with `s + i`.

    Args:
        num_envs: Number of episodes, >= 1.
        params: The parameters of the environment, the same as in the scalar form.
        autoreset_mode: `NEXT_STEP` (default), `SAME_STEP` or `DISABLED`.
        copy: Whether `step` returns arrays that later calls do not change. With False the next call reuses the
            observation array.
        render_mode: None, or `rgb_array` for pictures of the first episodes, see `hpo_envs.core.rendering`.
    """

    metadata: dict[str, Any] = {"render_modes": ["rgb_array"], "render_fps": FPS}  # noqa: RUF012

    _view: npt.NDArray[Any] | None = None
    """(num_envs, k) the table row of each action; None if actions are rows themselves."""

    _observations: npt.NDArray[np.float32]
    """(num_envs, ...) current observations, or the data from which an engine makes them."""

    def __init__(
        self, num_envs: int, params: Params, autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        copy: bool = True, render_mode: str | None = None,
    ) -> None:  # fmt: skip
        self.num_envs = check_int("num_envs", num_envs)
        self._show(render_mode)
        self.copy = bool(copy)
        try:
            self.autoreset_mode = AutoresetMode(autoreset_mode)
        except ValueError:
            modes = ", ".join(m.value for m in AutoresetMode)
            raise ValueError(f"autoreset_mode must be one of {modes}, got {autoreset_mode!r}") from None
        self.metadata = {**type(self).metadata, "autoreset_mode": self.autoreset_mode}
        self._adopt(params)
        self.single_observation_space = copying.deepcopy(params.observation_space)
        self.single_action_space = copying.deepcopy(params.action_space)
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self.action_space = batch_space(self.single_action_space, self.num_envs)
        self._index = np.arange(self.num_envs)
        self._table_index = np.zeros(self.num_envs, np.int64)
        self._streams: draws.Keys | None = None
        self._keys = np.zeros(self.num_envs, np.uint64)
        self._episodes = np.zeros(self.num_envs, np.uint64)
        self._ended = self._nobody = np.zeros(self.num_envs, bool)
        self._any_ended = False
        self._everyone = np.ones(self.num_envs, bool)  # copies of it take a tenth of the time of `np.ones`
        self._provenance = columns_of([provenance_info(params.tables, i) for i in range(len(params.tables))])
        self._masked = params.masked

    # -- what an engine writes -----------------------------------------------------------------------------------

    @abc.abstractmethod
    def _start(self, index: npt.NDArray[np.intp], keys: draws.Keys, options: dict[str, Any] | None) -> None:
        """Start fresh episodes at `index` (k,) with `keys` (k,)."""

    @abc.abstractmethod
    def _advance(self, actions: Any) -> tuple[npt.NDArray[Any], npt.NDArray[np.bool_], Info]:
        """Perform one action in every episode.

        Must tolerate episodes that have ended: what they return is overwritten.

        Returns:
            Rewards (n,) or (n, m), terminated (n,), info as (n, ...) arrays without `_key` masks.
        """

    def _observe(self) -> Any:
        """Return the observations; a fresh array if `self.copy`."""
        return self._observations.copy() if self.copy else self._observations

    @abc.abstractmethod
    def _check_actions(self, actions: Any) -> Any:
        """Return actions in the form that `_advance` takes; ValueError for a wrong shape or type or an invalid one."""

    # -- Gymnasium's interface -----------------------------------------------------------------------------------

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, Info]:
        """Start a fresh episode in every environment, or only in those of `options["reset_mask"]`, an (n,) bool array.

        Raises:
            ValueError: Seed or options are not valid, or `reset_mask` has no True, or a False at the first reset.
        """
        index = self._index
        check_options(options, (*self.params.options, "reset_mask"))
        if options is not None and "reset_mask" in options:
            options = dict(options)
            mask = options.pop("reset_mask")
            if not (isinstance(mask, np.ndarray) and mask.shape == (self.num_envs,) and mask.dtype == bool):
                raise ValueError(f"reset_mask must be a bool array of shape ({self.num_envs},), got {mask!r}")
            if not mask.any():
                raise ValueError("reset_mask must have at least one True, got none")
            if self._streams is None and not mask.all():
                raise ValueError(f"reset_mask must be all True at the first reset, got {mask!r}")
            index = np.flatnonzero(mask)
        self._seed(seed, index)
        info = self._begin(index, options, {})
        self._ended[index] = False
        self._any_ended = bool(self._ended.any())
        return self._observe(), self._with_mask(info)

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, Info]:
        """Perform one action in every environment; with NEXT_STEP, restart ended episodes instead.

        Returns:
            Observations, rewards (n,) or (n, m), terminated (n,), truncated (n,) (always False: Gymnasium limits
            steps), info: each `key` holds an (n, ...) array or a dict, and `_key` which environments reported it.
            With simulated workers, an environment in which nothing has finished reports only those of `SUBMITTED`.

        Raises:
            ValueError: An action is not valid.
            ResetNeeded: `reset` was never called, or (autoreset disabled) an episode has ended.
        """
        if self._streams is None:
            raise ResetNeeded("step() must follow reset(). Call envs.reset() first.")
        actions = self._check_actions(unmasked(actions))
        resets = self._any_ended and self.autoreset_mode is AutoresetMode.NEXT_STEP
        if self._any_ended and self.autoreset_mode is AutoresetMode.DISABLED:
            raise ResetNeeded(
                f"environments {np.flatnonzero(self._ended).tolist()} have ended and autoreset is disabled: call "
                "envs.reset(options={'reset_mask': ended}) first."
            )
        if resets and self._ended.all():
            return self._restart_all()
        rewards, terminated, info = self._advance(actions)
        reported = self._everyone.copy()
        if resets:
            index = np.flatnonzero(self._ended)
            rewards[index] = 0.0
            terminated[index] = False
            reported[index] = False
            for value in info.values():
                blank(value, index)
        ended = reported & info["finished"] if self.params.workers > 1 else reported
        info |= {"_" + key: reported if key in SUBMITTED else ended for key in info}
        if resets:
            self._begin(index, None, info)
        any_ended = int(np.count_nonzero(terminated)) > 0  # a third of the time of `any`
        if any_ended and self.autoreset_mode is AutoresetMode.SAME_STEP:
            self._restart_now(terminated, info)
        self._any_ended = waiting = any_ended and self.autoreset_mode is not AutoresetMode.SAME_STEP
        # What is returned is the caller's, who may add limits of its own to it.
        self._ended, done = (terminated, terminated.copy()) if waiting else (self._nobody, terminated)
        return (
            self._observe(), rewards, done, np.zeros(self.num_envs, bool),
            self._with_mask(info, None if resets else reported),
        )  # fmt: skip

    def answer(self, actions: Any) -> tuple[Any, npt.NDArray[np.bool_], Info]:
        """Advance all episodes as `step` does, but without autoreset or observations, to replay evaluations.

        Returns:
            Rewards, terminated and info as in `_advance`.

        Raises:
            ValueError: An action is not valid.
        """
        return self._advance(self._check_actions(unmasked(actions)))

    @property
    def table(self) -> Table:
        """The table; with several, that of the first environment's episode."""
        return self.tables[int(self._table_index[0])]

    @property
    def episodes(self) -> tuple[draws.Keys, npt.NDArray[np.int64]]:
        """Copies of the (num_envs,) uint64 keys of the episodes and of their (num_envs,) indices in `tables`."""
        return self._keys.copy(), self._table_index.copy()

    @property
    def rows(self) -> npt.NDArray[np.int64]:
        """(num_envs, k) table rows of each episode, see `HPOEnv.rows`; may be read-only."""
        if self._view is None or self._streams is None:
            return self.params.view.rows_many(self._keys, len(self.table))
        return self._view.astype(np.int64)  # drawn when the episodes started

    # -- shared machinery ----------------------------------------------------------------------------------------

    def _with_mask(self, info: Info, everyone: npt.NDArray[np.bool_] | None = None) -> Info:
        """Return an info with the action mask, if any; `everyone` (n,): which environments report it, None: all."""
        if not self._masked:
            return info
        return MaskedInfo.of(info, self._snapshot(), self._everyone.copy() if everyone is None else everyone)

    def _masks(self) -> npt.NDArray[np.bool_]:
        return self._snapshot()()

    def _snapshot(self) -> Callable[[], npt.NDArray[np.bool_]]:
        """Return a function that returns the current (num_envs, k) masks as a fresh array at each call."""
        raise NotImplementedError

    def _seed(self, seed: int | Sequence[int | None] | None, index: npt.NDArray[np.intp]) -> None:
        if isinstance(seed, (int, np.integer)):
            first = _check_seed(seed)
            self._np_random_seed = first
            self._np_random = np.random.default_rng(first)
            seeds: Sequence[int | None] = range(first, first + self.num_envs)
        elif seed is None:
            seeds = ()
        elif isinstance(seed, (Sequence, np.ndarray)) and not isinstance(seed, (str, bytes)):
            seeds = [None if s is None else _check_seed(s) for s in seed]
            if len(seeds) != self.num_envs:
                raise ValueError(f"seed must be an int or have length num_envs={self.num_envs}, got {len(seeds)}")
        else:
            raise ValueError(f"seed must be None, an int >= 0 or a list of {self.num_envs} such ints, got {seed!r}")
        if self._streams is None:
            self._streams = self.np_random.integers(2**63, size=self.num_envs).astype(np.uint64)
        if len(seeds):
            given = {i: s & (2**64 - 1) for i in index.tolist() if (s := seeds[i]) is not None}  # as in the scalar form
            chosen = np.array([*given], np.intp)
            self._streams[chosen] = draws.mix_many(np.array([*given.values()], np.uint64), 0)
            self._episodes[chosen] = 0

    def _begin(self, index: npt.NDArray[np.intp], options: dict[str, Any] | None, info: Info) -> Info:
        """Start the next episodes at `index`; add their provenance to `info`, with masks, and return it."""
        assert self._streams is not None
        self._episodes[index] += np.uint64(1)
        self._keys = self._keys.copy()  # masks of earlier steps are made of the keys that were
        keys = self._keys[index] = draws.mix_many(self._streams[index], self._episodes[index])
        self._start(index, keys, options)
        tables = self._table_index[index]
        about = {k: scatter(v.take(tables, axis=0), index, self.num_envs) for k, v in self._provenance.items()}
        merge(info, about, index, self.num_envs)
        return info

    def _restart_all(self) -> tuple[Any, Any, Any, Any, Info]:
        """Restart all episodes without an evaluation, for NEXT_STEP when all have ended; rewards are 0."""
        info = self._begin(self._index, None, {})
        self._ended = no = self._nobody
        self._any_ended = False
        shape = (self.num_envs, self.reward_dim) if self.params.vector else (self.num_envs,)
        return self._observe(), np.zeros(shape), no.copy(), no.copy(), self._with_mask(info)

    def _restart_now(self, terminated: npt.NDArray[np.bool_], info: Info) -> None:
        """Move the last observations and infos of ended episodes to `final_*`; start the next, for SAME_STEP."""
        index = np.flatnonzero(terminated)
        final = np.full(self.num_envs, None, dtype=object).view(InfoColumn)
        final[index] = np.fromiter(self._observe()[index], object, len(index))
        keys = tuple(k for k in info if not k.startswith("_"))
        ended: Info = {k: mapped(info[k], operator.methodcaller("copy")) for k in keys}
        ended |= {"_" + k: terminated.copy() for k in keys}
        if self._masked:
            ended = MaskedInfo.of(ended, self._snapshot(), terminated.copy())
        info["final_info"] = ended
        info["final_obs"] = final
        info["_final_info"] = info["_final_obs"] = terminated.copy()
        reported = ~terminated
        for k in keys:
            blank(info[k], index)
            info["_" + k] = info["_" + k] & reported
        self._begin(index, None, info)


def _signature(function: Callable[..., Any], *first: str, **named: Any) -> inspect.Signature:
    """Return the signature of a function with additional arguments: `first` before its own, `named` by keyword only."""
    kinds = inspect.Parameter
    added = [kinds(name, kinds.POSITIONAL_OR_KEYWORD) for name in first]
    added += [kinds(name, kinds.KEYWORD_ONLY, default=default) for name, default in named.items()]
    found = [*added, *inspect.signature(function).parameters.values()]
    return inspect.Signature(sorted(found, key=lambda p: p.kind))


def columns_of(entries: Sequence[Mapping[str, Any]]) -> Info:
    """Stack k mappings of info entries with the same names into (k, ...) arrays by name."""
    named: dict[str, list[Any]] = {name: [entry[name] for entry in entries] for name in entries[0]}
    return {name: column(v) if isinstance(v[0], str) else np.array(v) for name, v in named.items()}
