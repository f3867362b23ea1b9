"""Indices of actions carry no information: rows are stored in hash order, and each episode shuffles them."""

from collections.abc import Iterable
from typing import Any

import gymnasium as gym
import numpy as np
import numpy.typing as npt
import pytest

from hpo_envs.benchmarks.analysis.significance import holm
from hpo_envs.benchmarks.runs.episodes import arguments
from hpo_envs.families.registry import SPECS
from hpo_envs.tables import draws, frames, store
from hpo_envs.tables.table import Table
from hpo_envs.testing.families import section
from tests.helpers import IDS, ONE_OF_EACH, WIDE, raises


def _made(spec_id: str, **kwargs: Any) -> Any:
    return gym.make(spec_id, **kwargs).unwrapped


OF_ROWS = [i for i in ONE_OF_EACH if _made(i).params.kind in ("rows", "fidelity", "arms")]
"""Ids whose actions are rows, with one level or several, or arms."""


def test_ids_of_rows_and_no_others_take_shuffle_and_subsample_and_document_them() -> None:
    for spec_id, spec in ((i, SPECS[i]) for i in ONE_OF_EACH):
        arguments = section(spec.page, "Arguments")
        assert ("- `shuffle=False`" in arguments and "- `subsample=1.0`" in arguments) == (spec_id in OF_ROWS), spec_id
        if spec_id not in OF_ROWS:
            with pytest.raises((TypeError, ValueError), match="shuffle"):
                _made(spec_id, shuffle=True)


@pytest.mark.parametrize("spec_id", OF_ROWS)
@pytest.mark.hostile
def test_episode_has_shuffled_subsample(spec_id: str) -> None:
    env = _made(spec_id, shuffle=True, subsample=0.5)
    rows = len(env.table)
    env.reset(seed=0)
    seen = [env.rows.tolist()]
    for _ in range(9):
        env.reset()
        seen.append(env.rows.tolist())
    space = env.action_space
    size = space.n if isinstance(space, gym.spaces.Discrete) else space.nvec[0]
    assert {len(r) for r in seen} == {len(set(r)) for r in seen} == {size} == {max(1, round(rows / 2))}
    assert len({tuple(r) for r in seen}) > 1
    assert {row for r in seen for row in r} <= set(range(rows))


@pytest.mark.parametrize("spec_id", OF_ROWS)
def test_invalid_shuffle_and_subsample_are_rejected(spec_id: str) -> None:
    with raises("shuffle must be True or False, got 'file'"):
        _made(spec_id, shuffle="file")
    for subsample in (0.0, 1.5, True, float("nan")):
        with raises(f"subsample must be a number in (0, 1], got {subsample!r}"):
            _made(spec_id, subsample=subsample)


SEEDS, EVALUATIONS = 200, 20


def one_fidelity(ids: Iterable[str]) -> list[str]:
    """Ids among the given ones whose actions are rows at one level."""
    return [i for i in ids if _made(i).params.kind == "rows"]


def _by_hash(n: int) -> npt.NDArray[Any]:
    return np.argsort(draws.mix_many(np.array([14], np.uint64), np.arange(n)))


def _from_the_ends(n: int) -> npt.NDArray[Any]:
    return np.stack([np.arange(n), np.arange(n)[::-1]], axis=1).ravel()[:n]


PERMUTATIONS = {"in order": np.arange, "reversed": lambda n: np.arange(n)[::-1], "by a hash": _by_hash}
PERMUTATIONS |= {"from the ends": _from_the_ends}


def _best(spec_id: str, permutations: npt.NDArray[Any], first: int, **kwargs: Any) -> npt.NDArray[Any]:
    """(seeds, m) best rewards of agents that follow one permutation each."""
    given = arguments(spec_id, {"budget": EVALUATIONS, **kwargs})
    envs: Any = gym.make_vec(spec_id, num_envs=SEEDS, **given)
    envs.reset(seed=first)
    rewards = [envs.step(permutations[:, k])[1].reshape(SEEDS, -1) for k in range(EVALUATIONS)]
    return np.max(rewards, axis=0)


def _p_values(spec_id: str, **kwargs: Any) -> list[float]:
    """p-values by objective: does a fixed permutation score like random search? (Mann and Whitney's test)"""
    from scipy.stats import mannwhitneyu

    n = len(_made(spec_id).table)
    rng = np.random.default_rng(0)
    at_random = _best(spec_id, np.stack([rng.permutation(n) for _ in range(SEEDS)]), SEEDS, **kwargs)
    found = []
    for permutation in PERMUTATIONS.values():
        fixed = _best(spec_id, np.tile(permutation(n), (SEEDS, 1)), 0, **kwargs)
        found += [float(mannwhitneyu(a, b).pvalue) for a, b in zip(fixed.T, at_random.T, strict=True)]
    return found


@pytest.mark.hostile
def test_fixed_permutations_of_index_score_like_random_search() -> None:
    """With the defaults of comparisons; Holm's correction over ids, permutations and objectives."""
    adjusted = holm([p for spec_id in one_fidelity(IDS if WIDE else ONE_OF_EACH) for p in _p_values(spec_id)])
    assert min(adjusted) > 0.05


def _p_values_of_order(spec_id: str, table: Table) -> list[float]:
    """p-values, by objective, of the hypothesis that the table's own order is independent of the rewards.

    Spearman's test of index and reward; and for each fixed permutation the probability that as many random rows have a
    best reward at least as high.
    """
    from scipy.stats import hypergeom, spearmanr

    found, n = [], len(table)
    for metric in _made(spec_id).params.rewarded:
        rewards = np.nan_to_num(metric.sign * table.final(metric.name), nan=-np.inf)
        found.append(float(spearmanr(np.arange(n), rewards).pvalue))
        for permutation in PERMUTATIONS.values():
            as_good = rewards >= rewards[permutation(n)[:EVALUATIONS]].max()
            found.append(float(hypergeom.sf(0, n, int(as_good.sum()), EVALUATIONS)))
    return found


@pytest.mark.hostile
def test_order_in_which_tables_are_kept_says_nothing() -> None:
    """The same agents with `shuffle=False`; Holm's correction over all ids, objectives and tests."""
    specs = [SPECS[i] for i in one_fidelity(IDS)]
    assert len(specs) > 30
    p = [p for s in specs for p in _p_values_of_order(s.id, store.load(s.tables[0]))]
    assert min(holm(p)) > 0.05


def test_in_order_of_their_source_they_do() -> None:
    """Shows the need for hash order: a table in grid order fails the previous test."""
    table = frames.natural(store.load("nmthpo/swen"))
    assert min(holm(_p_values_of_order("NMTHPO-swen-v0", table))) < 1e-6
