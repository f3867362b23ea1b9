"""Environments on a function: default budget, candidates or box, metrics, reward of failed calls, observation space."""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from gymnasium.spaces import Box, Discrete

from hpo_envs.core.engines.function.calls import Form, Function, Outcome, check_form, name_of, resolve
from hpo_envs.core.params import Floats, Params, bounds_of, box, check_budget, check_int
from hpo_envs.core.spaces import MaskedMultiDiscrete
from hpo_envs.tables.checks import one_of, scalar, shown
from hpo_envs.tables.table import Metric, Provenance, Table, is_number, searched
from hpo_envs.tables.user.space import Points, axes_of, space_of

CAP = 1e6
"""Bound of costs, and of scores without given bounds; values beyond it are clipped in observations."""

FEWEST, MOST, EACH = 500, 5000, 20
"""Number of candidates: `EACH` for each evaluation of the budget, within these limits."""

MOST_VALUES = 10_000
"""Largest number of listed values of a hyperparameter; the memory of agents grows with its square."""

MOST_CANDIDATES, CELLS = 10**6, 10**8
"""Largest numbers of candidates, and of candidates times epochs."""

WITHOUT_BUDGET = 10_000
"""Evaluations of an episode with `budget=None` on a box, because a box never runs out of configurations."""


@dataclass(frozen=True, eq=False, kw_only=True)
class FunctionParams(Params):
    """Parameters of environments on a function.

    Attributes:
        function: The function that steps call.
        form: Form of the function.
        points: The search space.
        candidates: (rows, d) raw values of the candidates' hyperparameters.
        folder: Folder of the episodes' folders of checkpoints; None: a temporary folder per episode.
    """

    live = True

    function: Function
    form: Form
    points: Points
    candidates: Floats
    folder: Path | None

    @classmethod
    def of(
        cls, function: Any, space: Any, *, actions: str = "candidates", epochs: int | None = None,
        budget: float | None = 50, budget_unit: str = "evaluations", objective: str | tuple[str, ...] = "score",
        goal: str | tuple[str, ...] = "max",
        bounds: Mapping[str, tuple[float, float]] | tuple[float, float] | None = None,
        best: float | tuple[float, ...] | None = None, reference: float | tuple[float, ...] | None = None,
        candidates: int | None = None, candidate_seed: int = 0, cost_unit: str = "s",
        checkpoints: str | Path | None = None, trials: bool = False,
    ) -> FunctionParams:  # fmt: skip
        """Make the parameters from arguments; see the pages `FunctionHPO-v0` and `FunctionLC-v0`.

        With `trials`, evaluations report to trials, which may stop them early: training by epochs is then allowed on a
        box, without resuming, and a function may have an argument `trial`.

        Raises:
            ValueError: An argument is not valid.
        """
        called = resolve(function)
        form = check_form(called, epochs, trials, trials and actions == "box")
        points = Points(space_of(space))
        for h in points.space:
            if len(h.values) > MOST_VALUES:
                raise ValueError(f"{h.name} must have at most {MOST_VALUES} values, got {len(h.values)}")
        chosen = metrics_of(objective, goal, bounds)
        one_of("actions", actions, ("candidates", "box"))
        if epochs is not None and actions == "box" and not trials:
            raise ValueError("actions must be 'candidates' for a function trained epoch by epoch, got 'box'")
        one_of("budget_unit", budget_unit, ("evaluations", "cost", *(() if epochs is None else ("epochs",))))
        unit = cost_unit if budget_unit == "cost" else budget_unit
        each = 1 if epochs is None or unit != "epochs" else epochs
        count = count_of(candidates, budget if unit == budget_unit else None, each)
        check_int("candidates times epochs", count * (epochs or 1), high=CELLS)
        raw = points.candidates(count, check_int("candidate_seed", candidate_seed, 0))
        table = _table(name_of(called), points, raw, chosen, epochs, cost_unit)
        whole = float(each * (len(raw) if actions == "candidates" else WITHOUT_BUDGET))
        d = len(table.feature_names) if actions == "candidates" else len(points.space)
        low, high = bounds_of(chosen).T
        m, parts = len(chosen), 0 if epochs is None else 1
        spaces = Box(-1.0, 1.0, (d,), np.float32), Discrete(len(raw)), MaskedMultiDiscrete([len(raw), epochs or 1])
        start = -1 if actions == "box" else 0
        return cls(
            kind="box" if actions == "box" else "rows" if epochs is None else "fidelity", tables=(table,),
            rewarded=chosen, vector=not isinstance(objective, str),
            action_space=spaces[0] if actions == "box" else spaces[1] if epochs is None else spaces[2],
            observation_space=box((d, start, 1), (parts, 0, 1), (m, low, high), (1, 0, CAP), (m, low, high), (1, 0, 1)),
            cost_unit=cost_unit, budget_unit=unit,
            budget=check_budget(budget, whole if unit == budget_unit else CAP, unit),
            known=known_of(chosen, best, reference), function=called, form=form, points=points, candidates=raw,
            folder=None if checkpoints is None else Path(checkpoints),
        )  # fmt: skip

    @property
    def levels(self) -> Floats | None:
        """See `Params`."""
        return self.table.levels if self.kind == "fidelity" else None

    @property
    def steps(self) -> int | None:
        """See `Params`."""
        return len(self.candidates) * len(self.table.levels) if self.kind == "fidelity" else None

    @property
    def bounded(self) -> bool:
        """See `Params`; bounds of -`CAP` and `CAP` count as missing."""
        return all((m.low, m.high) != (-CAP, CAP) for m in self.rewarded)

    @functools.cached_property
    def axes(self) -> tuple[dict[str, Any], ...]:
        """See `Params`."""
        return axes_of(self.points.space)

    def problem(self, rows: npt.NDArray[np.int64] | None = None) -> dict[str, Any]:
        """See `Params`; candidates of a branch of a conditional space count as the branch, see `Points.weights`."""
        raw = self.candidates if rows is None else self.candidates[rows]
        return super().problem(rows) | {"weights": None if self.kind == "box" else self.points.weights(raw)}

    @property
    def expected(self) -> float:
        """Expected seconds of an episode, from the attribute `expected` of the function (of a full evaluation), else 0.

        A budget in cost units counts as seconds.
        """
        each = float(getattr(self.function, "expected", 0.0))
        units = {"evaluations": each, "epochs": each / len(self.table.levels)}
        return self.budget * units.get(self.budget_unit, float(each > 0.0))

    def stored(self, action: npt.NDArray[Any] | int) -> Floats:
        """Return the (d,) raw values of the hyperparameters that a valid action sets."""
        if self.kind == "box":
            unit = (np.asarray(action, dtype=np.float64)[None] + 1.0) / 2.0
            return np.asarray(self.points.raw(unit)[0])
        return np.asarray(self.candidates[int(np.asarray(action).reshape(-1)[0])])

    def action_of(self, config: Mapping[str, Any], table: int = 0) -> Any:
        """See `Params`; where actions are candidates, return the nearest candidate, trained for all epochs."""
        unit = self.points.unit(self.points.row(config)[None])
        if self.kind == "box":
            return (2.0 * unit[0] - 1.0).astype(np.float32)
        row = int(np.square(self.points.unit(self.candidates) - unit).sum(axis=1).argmin())
        return row if self.kind == "rows" else np.array([row, len(self.table.levels) - 1])


def metrics_of(
    objective: Any, goal: Any, bounds: Mapping[str, tuple[float, float]] | tuple[float, float] | None
) -> tuple[Metric, ...]:
    """Return the rewarded metrics of a function.

    `objective` and `goal` (`max` or `min`) are texts or tuples, `bounds` a pair (lowest, highest) for all or pairs by
    name; missing bounds are -CAP and CAP. ValueError if names are not distinct texts, or goals or bounds are invalid.
    """
    names = (objective,) if isinstance(objective, str) else tuple(objective) if np.iterable(objective) else ()
    if not names or not all(isinstance(n, str) and n for n in names) or len(set(names)) < len(names):
        raise ValueError(f"objective must be a name or a tuple of distinct names, got {objective!r}")
    goals = (goal,) * len(names) if isinstance(goal, str) else tuple(goal) if np.iterable(goal) else ()
    if len(goals) != len(names) or not all(g in ("max", "min") for g in goals):
        raise ValueError(f"goal must be max or min, one for all or for each of {len(names)} objectives, got {goal!r}")
    ends = bounds if isinstance(bounds, Mapping) else {} if bounds is None else dict.fromkeys(names, bounds)
    made = []
    for name, g in zip(names, goals, strict=True):
        pair = ends.get(name, (-CAP, CAP))
        low, high = map(scalar, pair) if isinstance(pair, (tuple, list)) and len(pair) == 2 else (None, None)
        if not (is_number(low) and is_number(high) and -math.inf < low < high < math.inf):
            raise ValueError(f"bounds of {name} must be two finite numbers, low < high, got {shown(pair)}")
        made.append(Metric(name, "", g, float(low), float(high), "returned by the function"))  # type: ignore[arg-type]
    for name in ends:
        one_of("name in bounds", name, names)
    return tuple(made)


def known_of(metrics: Sequence[Metric], best: Any, reference: Any) -> tuple[Floats, Floats] | None:
    """Return (m,) best known rewards and (m,) reference rewards; None if neither is given.

    `best` and `reference` are scores, a number or one per metric; ValueError if only one of them is given, a number is
    missing or not finite, or `best` is not better.
    """
    if best is None and reference is None:
        return None
    signs = np.array([m.sign for m in metrics])
    rewards = []
    for name, value in (("best", best), ("reference", reference)):
        scores = tuple(map(scalar, value if isinstance(value, (tuple, list)) else (value,)))
        if len(scores) != len(metrics) or not all(is_number(s) and math.isfinite(s) for s in scores):
            numbers = "a finite number" if len(metrics) == 1 else f"{len(metrics)} finite numbers"
            raise ValueError(f"{name} must be {numbers} if best or reference is given, got {shown(value)}")
        rewards.append(signs * np.array(scores, dtype=np.float64))
    if not (rewards[0] > rewards[1]).all():
        raise ValueError(f"best must be better than reference in every objective, got {best!r} and {reference!r}")
    return rewards[0], rewards[1]


def count_of(candidates: Any, budget: Any, each: int = 1) -> int:
    """Return the number of candidates: the given one, else `EACH` per full evaluation, from `FEWEST` to `MOST`.

    `each` is the budget used by a full evaluation; no budget gives `FEWEST`. ValueError if `candidates` is neither None
    nor an int from 2 to `MOST_CANDIDATES`.
    """
    if candidates is None:
        evaluations = min(budget, MOST * each) / each if is_number(budget) and budget > 0 else 0
        return int(min(max(FEWEST, EACH * evaluations), MOST))
    return check_int("candidates", candidates, 2, MOST_CANDIDATES, optional=True)


def _table(
    name: str, points: Points, raw: Floats, metrics: tuple[Metric, ...], epochs: int | None, cost_unit: str
) -> Table:
    """Return the candidates as a table without measurements; its hash identifies the search."""
    levels = np.arange(1.0, (epochs or 1) + 1.0)
    nothing = np.full((len(raw), 1, len(levels)), np.nan)
    cited = f"{name}, the user's own function"
    return Table(
        name=f"function/{''.join(c if c.isalnum() else '-' for c in name)}", keys=tuple(map(str, range(len(raw)))),
        metrics=metrics, values=np.repeat(nothing[..., None], len(metrics), axis=3), cost=nothing,
        provenance=Provenance("measured", cited, "", "not stated", cited), cost_unit=cost_unit, levels=levels,
        level_unit="full training" if epochs is None else "epochs", **searched(points.space, raw),
    )  # fmt: skip


def reward_of(outcome: Outcome, params: FunctionParams) -> Floats:
    """Return (m,) rewards: metrics, negated if lower is better; the worst possible for a failed or diverged call."""
    if outcome.status in ("failed", "diverged"):
        return params.low.copy()
    return np.array([m.sign * outcome.metrics[m.name] for m in params.rewarded])
