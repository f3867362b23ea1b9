"""Each episode's own rows: what agents see of them, and what is stored."""

from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from hpo_envs.agents.random import RandomSearch
from hpo_envs.benchmarks.comparison.replay import table_of
from hpo_envs.benchmarks.runs import Run, run
from hpo_envs.benchmarks.runs.episodes import has_rows, seeds_of
from hpo_envs.commands.main import main
from hpo_envs.core.subsample import View
from hpo_envs.tables.table import LOST, STATUSES
from tests.helpers import first_key, raises, rejects

CASES: list[tuple[str, dict[str, Any]]] = [
    ("NMTHPO-zhen-v0", {}), ("NMTHPO-zhen-mo-v0", {"budget": 12}), ("NASBenchNLP-ptb-final-v0", {"budget": 30}),
    ("NASBenchNLP-wikitext2-v0", {"budget": "auto"}), ("NMTLC-ft-zhen-v0", {"levels": 3, "workers": 3}),
    ("FIESTA-tdsa8-v0", {"budget": 40}), ("FIESTA-tdsa8-v0", {"budget": 40, "workers": 3}),
    ("FIESTA-tdsa8-v0", {"budget": 40, "batch_size": 4}),
    ("FIESTA-ner-v0", {"budget": 40, "fix_split": 7, "replacement": False}), ("TableHPO-v0", {}), ("NMTHPO-v0", {}),
]  # fmt: skip
VIEWED = [c for c in CASES if c[0] != "NMTHPO-v0"]


def _runs(case: tuple[str, dict[str, Any]], seeds: Any, agent: Any = "random", **kwargs: Any) -> list[Run]:
    return run(agent, case[0], seeds, env_kwargs={**case[1], **kwargs})


def test_ids_of_other_packages_are_rejected() -> None:
    rejects("env_id must be a registered id .*, got 'CartPole-v1'", has_rows, "CartPole-v1", {})


def _identical(a: Run, b: Run) -> bool:
    pairs = [(getattr(a, n), getattr(b, n)) for n in ("actions", "rewards", "costs", "recommended")]
    pairs += [(a.evaluated[n], b.evaluated[n]) for n in a.evaluated]
    return a.header == b.header and all(np.array_equal(x, y) for x, y in pairs)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_what_is_stored_is_in_table_at_row_level_and_repeat(case: tuple[str, dict[str, Any]]) -> None:
    for r in _runs(case, [0, 7]):
        table = table_of(r.header)
        at = r.evaluated
        columns = [table.metric(name) for name in r.header["objectives"]]
        signs = np.array([table.metrics[j].sign for j in columns])
        values = table.values[at["row"], at["repeat"], at["level"]][:, columns] * signs
        # A run may end before the level that was asked for, or without a value: the reward is then another's.
        ok = (at["status"] == STATUSES.index("ok")) & ~np.isnan(values).any(axis=1)
        assert ok.any() or "levels" in case[1]
        assert np.array_equal(values[ok], r.rewards.reshape(len(r), -1)[ok])
        assert np.array_equal(table.status[at["row"], at["repeat"]][ok], at["status"][ok])
        assert (at["row"].dtype, at["status"].dtype) == (np.int32, np.int8)
        if "truth" in at and case[0] != "NASBenchNLP-wikitext2-v0" and "fix_split" not in case[1]:
            means = table.final(r.header["objectives"][0])[at["row"]]
            known = ~np.isnan(means) & ~np.isin(table.status[at["row"]], LOST).any(axis=1)
            assert known.any()
            assert at["truth"][known] == pytest.approx(signs[0] * means[known])
        if "truth" in at:
            assert r.recommended_truth in at["truth"]
        else:
            assert (np.asarray(r.recommended_truth) == r.rewards).reshape(len(r), -1).all(axis=1).any()


@pytest.mark.parametrize("case", VIEWED, ids=str)
def test_seed_has_same_rows_alone_and_among_others(case: tuple[str, dict[str, Any]]) -> None:
    (alone,) = _runs(case, [7], subsample=0.7)
    among = _runs(case, [3, 7, 8], subsample=0.7)
    assert _identical(alone, among[1])
    assert (alone.header["shuffle"], alone.header["subsample"]) == (True, 0.7)
    rows = len(table_of(alone.header))
    for r in among:
        assert set(r.evaluated["row"].tolist()) <= set(
            View(subsample=0.7).rows(first_key(seeds_of(case[0], r.seed)[0]), rows).tolist()
        )


class Watcher(RandomSearch):
    """Agent that records its results."""

    seen: list[Any]
    made: list[Any] = []  # noqa: RUF012

    def __init__(self, problem: Any, seed: int) -> None:
        super().__init__(problem, seed)
        self.seen = []
        self.made.append(self)

    def tell(self, action: Any, reward: Any, info: Any) -> None:
        super().tell(action, reward, info)
        assert "row" not in info
        if info.get("finished", True):
            self.seen.append(action)


@pytest.mark.parametrize("case", [c for c in VIEWED if "batch_size" not in c[1]], ids=str)
def test_agents_see_indices_of_their_own_order_and_features_to_match(case: tuple[str, dict[str, Any]]) -> None:
    Watcher.made.clear()
    stored = _runs(case, [0, 1], Watcher, subsample=0.9)
    table = table_of(stored[0].header)
    for agent, r in zip(Watcher.made, stored, strict=True):
        rows = View(True, 0.9).rows(first_key(seeds_of(case[0], r.seed)[0]), len(table))
        seen = np.array(agent.seen)
        first = seen if seen.ndim == 1 else seen[:, 0]
        assert rows[first].tolist() == r.evaluated["row"].tolist()
        assert len(rows) == 2 or not np.array_equal(first, r.evaluated["row"])
        if agent.problem.features is not None:
            assert np.array_equal(agent.problem.features, table.features[rows])
            assert agent.problem.index.tolist() == rows.tolist()
        space = agent.problem.action_space
        assert len(rows) == (space.n if isinstance(space, gym.spaces.Discrete) else space.nvec[0])
    if stored[0].header["env"].startswith("NM"):
        assert Watcher.made[0].problem.base is Watcher.made[1].problem.base


def test_seeds_are_hashed_with_id() -> None:
    ids = [f"NMTLC-{pair}-v0" for pair in ("zhen", "ruen", "jaen")]
    hashes = np.array([[seeds_of(env_id, seed)[0] for seed in range(2000)] for env_id in ids], dtype=float)
    assert len(np.unique(hashes)) == hashes.size
    assert np.abs(np.corrcoef(hashes)[np.triu_indices(3, 1)]).max() < 0.08, "3.5 standard errors"
    assert seeds_of("NMTHPO-zhen-v0", 7) == (11488214856593114127, 2123957263), "for ever: runs are stored by seed"


def test_all_agents_have_episode_of_their_seed() -> None:
    case = ("FIESTA-tdsa8-v0", {"budget": 60})
    for a, b in zip(*(_runs(case, range(3), agent, subsample=0.5) for agent in ("random", "sr")), strict=True):
        pulls = [{(x, r.actions[:k].tolist().count(x)): r.rewards[k] for k, x in enumerate(r.actions)} for r in (a, b)]
        common = pulls[0].keys() & pulls[1].keys()
        assert len(common) > 20
        assert [pulls[0][k] for k in common] == [pulls[1][k] for k in common]
    one, other = (_runs((env_id, {"budget": 20}), [7])[0] for env_id in ("NMTHPO-zhen-v0", "NMTHPO-zhen-mo-v0"))
    assert not np.array_equal(one.actions, other.actions)


def test_targets_see_rows_of_table() -> None:
    runs = run("random", "NMTHPO-zhen-v0", range(4), env_kwargs={"budget": None}, target=lambda action, _: action == 11)
    assert all(r.actions[-1] == 11 and 11 not in r.actions[:-1] for r in runs)
    assert len({len(r) for r in runs}) > 1


def test_shuffle_and_subsample_are_rejected_where_actions_are_no_rows() -> None:
    with raises("subsample must be left out on NMTHPO-v0, whose actions are not configurations, got 0.5"):
        run("random", "NMTHPO-v0", [0], env_kwargs={"subsample": 0.5})


def test_compare_has_subsample_and_shuffle(tmp_path: Path, capsys: pytest.CaptureFixture[str], cli: Any) -> None:
    command = ["compare", "--env", "NMTHPO-zhen-v0", "--seeds", "3", "--out", str(tmp_path)]
    assert main([*command, "--subsample", "0.5"]) == 0
    assert "0 runs made" in cli([*command, "--subsample", "0.5"])
    assert main(command) != 0
    assert "subsample 0.5" in capsys.readouterr().err
    assert main([*command, "--no-shuffle"]) != 0
    assert "shuffle" in capsys.readouterr().err
