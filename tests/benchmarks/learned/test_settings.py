"""What the study of the learned agents runs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from hpo_envs.agents.transfer.acquisition_net import SIZE
from hpo_envs.benchmarks.learned import settings, tables
from hpo_envs.benchmarks.learned.settings import Setting
from hpo_envs.tables import store


def test_japanese_weights_are_for_japanese_tables() -> None:
    todo = settings.settings("nmthpo", "surrogate", ("random", "japanese"))
    names = tables.names("nmthpo")
    assert [s.table for s in todo if s.method == "random"] == list(names)
    assert {s.table for s in todo if s.method == "japanese"} == {"nmthpo/jaen", "nmthpo/enja"}


@pytest.mark.parametrize(
    ("method", "agent", "arguments"),
    [
        ("bo", "bo", {}),
        ("generic", "learned", {"family": "generic", "seen": True}),
        ("learned", "learned", {"family": "nmthpo", "without": "jaen", "seen": True}),
        ("japanese", "learned", {"family": "nmthpo", "without": "ja", "seen": True}),
        ("embedded", "learned", {"family": "nmthpo-embedded", "without": "jaen", "seen": True}),
    ],
)
def test_weights_have_not_seen_the_language(method: str, agent: str, arguments: dict[str, Any]) -> None:
    assert settings.agent_of(Setting("nmthpo", "nmthpo/jaen", method, "surrogate")) == (agent, arguments)


def test_the_start_is_an_untrained_network() -> None:
    name, arguments = settings.agent_of(Setting("nmthpo", "nmthpo/jaen", "start", "surrogate"))
    assert name == "learned"
    assert np.shape(arguments["weights"])[-1] == SIZE


def test_regret_falls_and_has_a_unit() -> None:
    found = settings.regrets(Setting("nmthpo", "nmthpo/jaen", "random", "surrogate"), [0, 1])
    assert found.shape == (2, settings.BUDGET)
    assert (np.diff(found, axis=1) <= 0).all()
    assert (found >= 0).all()
    final = store.load("nmthpo/jaen", "surrogate").final("bleu")
    assert 1e-3 * np.ptp(final) <= settings.scale("nmthpo/jaen", "surrogate") < np.ptp(final)
