"""What agents of other packages share."""

from __future__ import annotations

import json
import random

import numpy as np
import pytest

from hpo_envs.agents.external.packages import Generators, package
from hpo_envs.agents.registry import install


def test_agents_draw_from_their_own_states_and_leave_the_global_ones_alone() -> None:
    before = random.getstate(), np.random.get_state()[1].tolist()  # type: ignore[index]  # noqa: NPY002

    def draws(own: Generators) -> tuple[float, float]:
        with own.active():
            return random.random(), float(np.random.random())  # noqa: NPY002

    one, same, other = Generators(3), Generators(3), Generators(4)
    first = draws(one)
    assert draws(other) != first
    second = draws(one)
    assert second != first
    assert [draws(same), draws(same)] == [first, second]
    assert (random.getstate(), np.random.get_state()[1].tolist()) == before  # type: ignore[index]  # noqa: NPY002


def test_what_is_not_installed_says_which_extra_brings_it() -> None:
    assert package("json") is json
    with pytest.raises(
        ModuleNotFoundError, match=r'^agents of nowhere need nowhere: pip install "hpo_envs\[nowhere\]"$'
    ):
        package("nowhere.inside")
    assert [install(n) for n in ("ax", "optuna")] == [f'pip install "hpo_envs[{e}]"' for e in ("optimizers", "optuna")]
    assert install("dehb").startswith("pip install --no-deps dehb")
