"""Tree-based search learns from features and never repeats a suggestion."""

from typing import Any

import numpy as np
import pytest

from hpo_envs.agents import candidates as pool
from hpo_envs.agents.search import trees
from tests.agents.helpers import play as play_rows
from tests.agents.helpers import problem
from tests.agents.multifidelity.helpers import make, play


@pytest.mark.parametrize("name", ["regularized-evolution", "bagged-trees", "smac-like", "tpe"])
def test_models_beat_random_search_where_features_tell(name: str) -> None:
    if name == "tpe":
        optuna = pytest.importorskip("optuna")
        if int(optuna.__version__.partition(".")[0]) < 5:
            pytest.skip("the TPE of Optuna 4.0.0 does not beat random search here")
    hyper: dict[str, Any] = {"initial": 10, "bag": 5, "trees": 10} if name == "bagged-trees" else {}
    if name == "regularized-evolution":
        hyper = {"population": 8, "sample": 4}
    ours, random = [], []
    for seed in range(12 if name == "tpe" else 5):
        ours.append(np.min([row for (row, _), _, _ in play(name, make(), seed, 30, **hyper)[1]]))
        random.append(np.min([row for (row, _), _, _ in play("random", make(), seed, 30)[1]]))
    assert np.mean(ours) < np.mean(random)


def test_an_initial_row_that_was_reported_is_not_suggested() -> None:
    x = np.random.default_rng(0).random((9, 2))
    first, second = play_rows(trees.ForestSearch(problem(x), 0, initial=2), float, 2)
    agent = trees.ForestSearch(problem(x), 0, initial=2.0)  # type: ignore[arg-type]
    agent.tell(first, 1.0, {})
    assert agent.ask() == second


def test_a_pool_is_scored_where_there_are_too_many_candidates(monkeypatch: pytest.MonkeyPatch) -> None:
    for module, name, value in ((trees, "AFFORDABLE", 50), (pool, "NEIGHBOURS", 3), (pool, "RANDOM", 4)):
        monkeypatch.setattr(module, name, value)
    x = np.random.default_rng(0).random((200, 2))
    agent = trees.ForestSearch(problem(x), 0, initial=4, batch=30, random_share=0.0)
    # The model sees what it scores, and says that large first features are desirable.
    monkeypatch.setattr(agent, "score", lambda splits, rows, y: x[agent._scored, 0])
    asked = []
    for _ in range(70):
        row = agent.ask()
        if len(asked) >= 4:
            assert set(agent._learnt[: agent._fitted]) <= set(agent._scored)
            free = agent._scored[~np.isin(agent._scored, asked)]
            assert row == max([row, *free], key=lambda k: x[k, 0])
        agent.tell(row, float(x[row, 1]), {})
        asked.append(row)
    assert len(set(asked)) == 70, "a pool that is used up is drawn anew"
    assert agent._splits is None
