"""Shared fixtures: every id on every kind of table that is at hand."""

from __future__ import annotations

import os
import signal
import tempfile
from typing import Any

import numpy as np
import pytest
from hypothesis import settings

import hpo_envs  # noqa: F401
from hpo_envs.registry import SPECS, Spec
from hpo_envs.tables import store

# No test asserts a time: machines that run tests can be busy. The same examples every time, unless new ones are wanted.
settings.register_profile("steady", deadline=None, derandomize="HPO_ENVS_FUZZ" not in os.environ)
settings.load_profile("steady")

# Nobody's own tables are seen by tests, nor written.
os.environ["HPO_ENVS_TABLES"] = tempfile.mkdtemp(prefix="hpo-envs-tables-")


def installed(table: str) -> bool:
    """Whether a measured table's files are at hand."""
    return store.measurable(table) and not store.missing(table)


def kinds_of(spec: Spec) -> list[str]:
    """The kinds of table that an id can be tested on here."""
    measured = not spec.surrogate_only and all(installed(t) for t in spec.tables)
    return ["surrogate", "measured"] if measured else ["surrogate"]


ID_KINDS = [(s.id, kind) for s in SPECS.values() for kind in kinds_of(s)]

# By family: arguments that make an episode a few steps long, so that tests meet its end several times.
SHORT: dict[str, dict[str, Any]] = {
    "NMTLC": {"cost": "evaluations", "budget": 4},
    "NASBenchNLP": {"budget": 9e4},
}

# By family: relative tolerance between the scalar and the batched form, where a step computes instead of gathering.
TOLERANCE: dict[str, float] = {}


def short(spec_id: str) -> dict[str, Any]:
    """Arguments that make an episode of an id a few steps long."""
    return SHORT.get(SPECS[spec_id].family, {"budget": 4})


def tolerance(spec_id: str) -> float:
    """Relative tolerance of an id's family."""
    return TOLERANCE.get(SPECS[spec_id].family, 0.0)


def pytest_configure() -> None:
    """Where the tests run with Ctrl-C ignored (in the background, say), their child processes would inherit that."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skips what needs upstream files when none are installed."""
    have = installed("nmthpo/swen")
    for item in items:
        if item.get_closest_marker("measured") and not have:
            item.add_marker(pytest.mark.skip(reason="measured tables are not installed (hpo-envs fetch)"))


@pytest.fixture(params=ID_KINDS, ids=lambda p: f"{p[0]}-{p[1]}")
def id_kind(request: pytest.FixtureRequest) -> tuple[str, str]:
    """(id, kind) for every registered id and every kind of table at hand."""
    return request.param  # type: ignore[no-any-return]


def same(a: Any, b: Any, rtol: float = 0.0) -> bool:
    """Whether two nested values are equal, floats to a relative tolerance."""
    if isinstance(a, dict):
        return isinstance(b, dict) and a.keys() == b.keys() and all(same(a[k], b[k], rtol) for k in a)
    if isinstance(a, (float, np.floating)) or (isinstance(a, np.ndarray) and a.dtype.kind == "f"):
        return bool(np.allclose(np.asarray(a, float), np.asarray(b, float), rtol=rtol, atol=rtol))
    return bool(np.array_equal(np.asarray(a), np.asarray(b)))


def finite(value: Any) -> bool:
    """Whether a nested value holds no NaN and no infinity."""
    if isinstance(value, dict):
        return all(finite(v) for v in value.values())
    array = np.asarray(value)
    return bool(np.isfinite(array).all()) if array.dtype.kind == "f" else True
