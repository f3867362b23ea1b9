"""Modules of extras."""

from __future__ import annotations

import json

import pytest

from hpo_envs.checks import extra_module


def test_a_module_or_how_to_install_it() -> None:
    assert extra_module("json", "plots", "pictures") is json
    with pytest.raises(
        ModuleNotFoundError, match=r'^pictures need no_such: pip install "hpo_envs\[plots\]"$'
    ) as caught:
        extra_module("no_such.part", "plots", "pictures")
    assert caught.value.name == "no_such"
