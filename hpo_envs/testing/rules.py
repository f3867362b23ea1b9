"""Common parts of contracts: applying rules by name, errors of broken rules, comparison of nested values."""

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

import numpy as np

from hpo_envs.tables.checks import one_of

Checked = TypeVar("Checked")


def require(holds: object, sentence: str) -> None:
    """Raise an `AssertionError` with this message unless the condition holds, also under `python -O`."""
    if not holds:
        raise AssertionError(sentence)


def check_rules(
    label: str, subject: Checked, rules: Mapping[str, Callable[[Checked], None]], names: Iterable[str] | None
) -> None:
    """Apply the rules with these `names`, None for all, to a subject; `label` names it in errors.

    AssertionError if a rule is broken or raises another error, ValueError for an unknown name.
    """
    for name in rules if names is None else names:
        rule = rules[one_of("rules", name, rules)]
        try:
            rule(subject)
        except AssertionError as error:
            raise AssertionError(f"{label} breaks the rule {name!r}: {error}") from error
        except Exception as error:
            raise AssertionError(f"{label} breaks the rule {name!r}: {type(error).__name__}: {error}") from error


def refuses(call: Callable[[], Any], pattern: str, what: str, error: type[Exception] = ValueError) -> None:
    """Require that a call raises an error of a type, with a message that matches a pattern."""
    try:
        call()
    except error as raised:
        require(re.search(pattern, str(raised)), f"{what} must raise an error with '{pattern}', got {raised}")
        return
    raise AssertionError(f"{what} must raise a {error.__name__}, got none")


def same(a: Any, b: Any, rtol: float = 0.0) -> bool:
    """Return whether two nested values are equal, floats to this relative and absolute tolerance; NaN is unequal."""
    if isinstance(a, dict):
        return isinstance(b, dict) and a.keys() == b.keys() and all(same(a[k], b[k], rtol) for k in a)
    if isinstance(a, (float, np.floating)) or (isinstance(a, np.ndarray) and a.dtype.kind == "f"):
        return bool(np.allclose(np.asarray(a, float), np.asarray(b, float), rtol=rtol, atol=rtol))
    return bool(np.array_equal(np.asarray(a), np.asarray(b)))


def finite(value: Any) -> bool:
    """Return whether a nested value has no NaN and no infinity."""
    if isinstance(value, dict):
        return all(finite(v) for v in value.values())
    array = np.asarray(value)
    return bool(np.isfinite(array).all()) if array.dtype.kind == "f" else True
