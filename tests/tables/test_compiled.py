"""Which form of a computation is used."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from hpo_envs.tables import compiled


@pytest.fixture(autouse=True)
def _asked_again() -> Any:
    ask = compiled._numba
    yield
    ask.cache_clear()
    compiled.loops.cache_clear()


def test_without_numba_or_where_it_is_not_wanted_numpys_form_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(name: str) -> Any:
        raise ImportError("Numba needs another NumPy")

    for wanted in ("0", "1"):
        monkeypatch.setenv("HPO_ENVS_COMPILED", wanted)
        monkeypatch.setattr(compiled, "importlib", SimpleNamespace(import_module=refuse))
        compiled._numba.cache_clear()
        compiled.loops.cache_clear()
        assert compiled.loops("hpo_envs.tables.loops") is None
        assert compiled.jit(abs) is abs


def test_compiled_code_is_kept_where_a_folder_can_be_written(monkeypatch: pytest.MonkeyPatch) -> None:
    writable = True

    def njit(**options: Any) -> Any:
        if options.get("cache") and not writable:
            raise RuntimeError("cannot cache function: no locator available")
        return lambda function: (function, options)

    monkeypatch.setattr(compiled, "_numba", lambda: SimpleNamespace(njit=njit))
    assert compiled.jit(abs) == (abs, {"cache": True, "error_model": "numpy"})
    writable = False
    assert compiled.jit(abs) == (abs, {"error_model": "numpy"})
    assert compiled.loops("hpo_envs.tables.loops").__name__ == "hpo_envs.tables.loops"
