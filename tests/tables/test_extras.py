"""Modules of extras."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import pytest

from hpo_envs.tables import extras


def test_a_module_or_how_to_install_it() -> None:
    assert extras.module("json", "plots", "pictures") is json
    with pytest.raises(
        ModuleNotFoundError, match=r'^pictures need no_such: pip install "hpo_envs\[plots\]"$'
    ) as caught:
        extras.module("no_such.part", "plots", "pictures")
    assert caught.value.name == "no_such"


@pytest.fixture(autouse=True)
def _asked_again() -> Any:
    ask = extras._numba
    yield
    ask.cache_clear()
    extras.loops.cache_clear()


def test_without_numba_or_where_it_is_not_wanted_numpys_form_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(name: str) -> Any:
        raise ImportError("Numba needs another NumPy")

    for wanted in ("0", "1"):
        monkeypatch.setenv("HPO_ENVS_COMPILED", wanted)
        monkeypatch.setattr(extras, "importlib", SimpleNamespace(import_module=refuse))
        extras._numba.cache_clear()
        extras.loops.cache_clear()
        assert extras.loops("hpo_envs.tables.hlepor.loops") is None
        assert extras.jit(abs) is abs


def test_compiled_code_is_kept_where_a_folder_can_be_written(monkeypatch: pytest.MonkeyPatch) -> None:
    writable = True

    def njit(**options: Any) -> Any:
        if options.get("cache") and not writable:
            raise RuntimeError("cannot cache function: no locator available")
        return lambda function: (function, options)

    monkeypatch.setattr(extras, "_numba", lambda: SimpleNamespace(njit=njit))
    assert extras.jit(abs) == (abs, {"cache": True, "error_model": "numpy"})
    writable = False
    assert extras.jit(abs) == (abs, {"error_model": "numpy"})
    assert extras.loops("hpo_envs.tables.hlepor.loops").__name__ == "hpo_envs.tables.hlepor.loops"
