"""Calls of a user's function: exceptions, NaN, missing scores, seconds as cost, pausable trainings."""

import functools
import inspect
import math
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from hpo_envs.core.engines.function.threads import ThreadedIterator
from hpo_envs.core.params import check_int
from hpo_envs.tables.checks import imported, scalar, shown, unshared
from hpo_envs.tables.table import LARGEST, is_number

Function = Callable[..., Any]

Form = Literal["score", "epochs", "checkpoints"]
"""Forms of a user's function: `function(config)` returns a score (`score`) or yields one after each epoch (`epochs`);
`function(config, resume_from, epochs)` resumes and returns the score after this number of epochs (`checkpoints`)."""


@dataclass(frozen=True)
class Outcome:
    """Result of a call.

    Attributes:
        status: `ok`, `failed` (it raised, or returned no score or an invalid cost), `diverged` (a score is not finite
            or beyond `LARGEST`), or `truncated` (a training that ended early).
        metrics: Finite numbers that the call returned, by name; `cost` only if it is an objective. Empty if it failed.
        seconds: Duration of the call in seconds.
        cost: Number that the call returned as `cost`; None without one.
        error: Traceback, or the error in the returned value; empty if there is none.
    """

    status: str
    metrics: dict[str, float] = field(default_factory=dict)
    seconds: float = 0.0
    cost: float | None = None
    error: str = ""

    @property
    def price(self) -> float:
        """Cost of a call: the one that the function returned, else the seconds it took."""
        return self.seconds if self.cost is None else self.cost


def resolve(function: Any) -> Function:
    """Return a function, imported if it is given as `module:name`; ValueError if not found there or not callable."""
    if isinstance(function, str):
        function = imported("function", function, "module:name")
    if not callable(function):
        raise ValueError(f"function must be callable or module:name, got {function!r}")
    return function  # type: ignore[no-any-return]


def name_of(function: Function) -> str:
    """Return the qualified name of a function, or of the class of a callable object, for saved results."""
    return str(getattr(function, "__qualname__", type(function).__qualname__))


def form_of(function: Function, trained: bool) -> Form:
    """Return the form of a function: `epochs` for generators, else by its signature; `score` without one.

    Decorated generators count if it is `trained` by epochs; else the decorator may return their last score.
    """
    inner = function
    while isinstance(inner, functools.partial):
        inner = inner.func
    bodies = (inner, type(inner).__call__, inspect.unwrap(inner) if trained else None)
    if any(map(inspect.isgeneratorfunction, bodies)):
        return "epochs"
    return "checkpoints" if {"resume_from", "epochs"} <= _arguments(function) else "score"


def takes_trial(function: Function) -> bool:
    """Return whether a function has an argument `trial`, to which it reports."""
    return "trial" in _arguments(function)


def _arguments(function: Function) -> set[str]:
    try:
        return {*inspect.signature(function).parameters}
    except (TypeError, ValueError):  # builtins have none
        return set()


def check_signature(function: Function, form: Form, trial: bool = False) -> None:
    """Raise ValueError for a function that cannot be called with one dict of hyperparameters, before budget is used.

    Its other arguments follow from `form` and `trial`: whether functions with an argument `trial` get one. Objects
    without a signature pass.
    """
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return
    try:
        given = {"resume_from": None, "epochs": 1} if form == "checkpoints" else {}
        signature.bind({}, **given, **({"trial": None} if trial and takes_trial(function) else {}))
    except TypeError as error:
        raise ValueError(
            f"function must take one dict of hyperparameters, as in train(config), got {name_of(function)}{signature}: "
            f"{error}"
        ) from None


def check_form(function: Function, epochs: Any, trials: bool, reports: bool) -> Form:
    """Return the form of a function; ValueError if the function or `epochs` does not fit it.

    `epochs` is None unless evaluations have epochs. `trials`: as `trial` in `check_signature`; `reports`: whether a
    function that returns a score may have epochs, because it reports them to its argument `trial`.
    """
    form = form_of(function, epochs is not None)
    check_signature(function, form, trials)
    if epochs is None:
        if form != "score":
            raise ValueError(f"function must return its score (FunctionLC-v0 trains by epochs), got {function}")
        return form
    check_int("epochs", epochs)
    if form == "score" and not (reports and takes_trial(function)):
        rule = "yield a score after each epoch or be function(config, resume_from, epochs)"
        if trials and takes_trial(function):
            rule += " where the agent chooses from candidates, as auto does for several objectives"
        raise ValueError(f"function must {rule}, got {function}")
    return form


def call(function: Function, config: Mapping[str, Any], objectives: Sequence[str], **arguments: Any) -> Outcome:
    """Call a function; an exception becomes a failed outcome.

    The function gets a copy of `config`, the natural values of the active hyperparameters, lists and dicts in it
    included, and the `arguments`. It must return `objectives` by name; a single one may be a plain number.
    """
    return timed(lambda: function(unshared(dict(config)), **arguments), objectives)


def timed(work: Callable[[], Any], objectives: Sequence[str]) -> Outcome:
    """Time a call and read its result; an exception becomes a failed outcome."""
    start = time.perf_counter()
    try:
        returned = work()
    except Exception:
        return Outcome("failed", seconds=time.perf_counter() - start, error=traceback.format_exc())
    return read(returned, objectives, time.perf_counter() - start)


def read(returned: Any, objectives: Sequence[str], seconds: float) -> Outcome:
    """Return the outcome of a call that returned a number or a mapping of names to values, or failed to do so."""
    given = returned if isinstance(returned, Mapping) else {objectives[0]: returned}
    plain = {str(k): scalar(v) for k, v in given.items()}
    numbers = {k: float(v) for k, v in plain.items() if isinstance(v, bool) or is_number(v)}
    cost = numbers.get("cost") if "cost" in objectives else numbers.pop("cost", None)
    if "cost" in plain and (cost is None or not 0 <= cost <= LARGEST):
        got = f"function must return a number from 0 to {LARGEST:g} as cost, got {shown(plain['cost'])}"
        return Outcome("failed", seconds=seconds, error=got)
    if not numbers.keys() >= {*objectives}:
        return Outcome("failed", seconds=seconds, cost=cost, error=_complaint(objectives, returned))
    finite = {k: v for k, v in numbers.items() if abs(v) <= LARGEST}
    if any(name not in finite for name in objectives):
        huge = any(LARGEST < abs(numbers[name]) < math.inf for name in objectives)
        more = f" (beyond {LARGEST:g}, scores count as infinite)" * huge
        return Outcome("diverged", finite, seconds, cost, _complaint(objectives, returned) + more)
    return Outcome("ok", finite, seconds, cost)


def _complaint(objectives: Sequence[str], returned: Any) -> str:
    rule = f"{'a number or ' * (len(objectives) == 1)}a mapping with {', '.join(objectives)}"
    if isinstance(returned, Mapping) and not set(objectives) <= set(returned):
        names = ", ".join(map(str, returned)) or "nothing"
        return f"function must return {rule}, finite, got one with {names[:200]} (objective= names the score)"
    got = " ".join(shown(returned, repr if isinstance(returned, str) else str).split())
    kind = "" if isinstance(returned, (str, int, float, type(None), Mapping)) else f"{type(returned).__name__} "
    return f"function must return {rule}, finite, got {kind}{got}"


class PausableTraining:
    """Training of one configuration, which can be paused after an epoch and resumed.

    Args:
        function: Function of the form `epochs` or `checkpoints`.
        config: Natural values of the active hyperparameters.
        objectives: As for `call`.
        folder: Folder in which a function of the form `checkpoints` stores its state; None for the form `epochs`.

    Attributes:
        epoch: Last epoch reached.
        ended: Whether the training is over: it returned early, failed, diverged or was closed.
    """

    def __init__(
        self, function: Function, config: Mapping[str, Any], objectives: tuple[str, ...], folder: Path | None = None
    ) -> None:
        self._function, self._config, self._objectives, self._folder = function, dict(config), objectives, folder
        self._epochs: ThreadedIterator | None = None
        self.epoch = 0
        self.ended = False

    def close(self) -> None:
        """End the training, and its generator if there is one."""
        self.ended = True
        if self._epochs is not None:
            self._epochs.close()

    def until(self, epoch: int) -> list[tuple[int, Outcome]]:
        """Train up to an epoch; return (epoch, outcome) of each new result, an empty list if there is none.

        Nothing is trained if the epoch was reached before; a training that returned early, failed or diverged is not
        continued.
        """
        if self.ended or epoch <= self.epoch:
            return []
        if self._folder is None:
            return self._draw(epoch)
        self._folder.mkdir(parents=True, exist_ok=True)
        given = {"resume_from": self._folder, "epochs": epoch}
        outcome = call(self._function, self._config, self._objectives, **given)
        self.epoch, self.ended = epoch, outcome.status != "ok"
        return [(epoch, outcome)]

    def _draw(self, epoch: int) -> list[tuple[int, Outcome]]:
        outcomes: list[tuple[int, Outcome]] = []
        if self._epochs is None:
            own = unshared(self._config)
            self._epochs = ThreadedIterator(lambda f=self._function, config=own: iter(f(config)))  # type: ignore[misc]
        while self.epoch < epoch and not self.ended:
            start = time.perf_counter()
            try:
                returned = next(self._epochs)
            except StopIteration:
                self.ended = True
                break
            except Exception:
                outcome = Outcome("failed", seconds=time.perf_counter() - start, error=traceback.format_exc())
            else:
                outcome = read(returned, self._objectives, time.perf_counter() - start)
            self.epoch += 1
            self.ended = outcome.status != "ok"
            outcomes.append((self.epoch, outcome))
        return outcomes
