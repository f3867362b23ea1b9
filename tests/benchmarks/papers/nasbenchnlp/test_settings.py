"""Presets name what exists."""

from __future__ import annotations

import gymnasium as gym
import pytest

from hpo_envs.benchmarks.papers.nasbenchnlp import settings


@pytest.mark.parametrize("preset", list(settings.PRESETS))
def test_presets_name_agents_and_features_that_exist(preset: str) -> None:
    from hpo_envs.agents import entry

    names = [m.name for m in settings.PRESETS[preset]]
    assert len(set(names)) == len(names)
    features = gym.make("NASBenchNLP-wikitext2-v0").unwrapped.table.feature_names
    for method in settings.PRESETS[preset]:
        assert "levels" in entry(method.agent).supports
        prefix = method.hyperparameters.get("features", "")
        prefix = (prefix,) if isinstance(prefix, str) else prefix
        count = sum(name.startswith(tuple(prefix)) for name in features)
        assert count == {"BO 10D": 10, "BO 50D": 50}.get(method.name, count) > 0
