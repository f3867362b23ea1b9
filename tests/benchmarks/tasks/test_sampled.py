"""Tasks drawn from many tables: their weights, halves, rewards and observations."""

from collections import Counter

import gymnasium as gym
import numpy as np
import pytest

from hpo_envs import wrappers
from hpo_envs.agents.models.candidate_set import CandidateArrays, CandidateSet
from hpo_envs.benchmarks import tasks
from hpo_envs.benchmarks.tasks import priors
from hpo_envs.benchmarks.tasks.pools import TaskPool, in_half, pools, scores
from hpo_envs.benchmarks.tasks.sampled import Draws, SampledTasks, _some
from hpo_envs.tables import catalogue, store
from tests.helpers import rejects, started

FEATURES = ("hyperparameters", "observed", "history")


def pool(name: str, group: str, rows: int = 40, seed: int = 0) -> TaskPool:
    rng = np.random.default_rng(seed)
    return TaskPool(name, group, (), rng.random((rows, 3)), rng.standard_normal(rows))


def test_pools_are_validation_scores_and_never_held_out() -> None:
    found = pools()
    assert len({p.group for p in found}) > 25
    for p in found:
        assert p.metric == catalogue.settings()[p.name].objective
        assert not p.metric.startswith("test_")
        assert len(p.x) == len(p.y)
        assert 0.0 <= p.x.min() <= p.x.max() <= 1.0


def test_objectives_of_the_catalogue_are_metrics_of_their_tables() -> None:
    for name, setting in catalogue.settings().items():
        if setting.objective and not store.missing(name):
            assert setting.objective in store.load(name).metric_names, name


def test_a_run_without_a_result_has_the_worst_score() -> None:
    table = store.load("taskset/irnn64")
    found = scores(table, "validation_loss")
    assert (found[table.status == 2] == -table.metrics[0].high).all()
    assert (table.status == 2).sum() > 100


def test_repeats_that_were_not_made_change_no_score() -> None:
    table = store.load("nasbenchnlp/wikitext2")  # most cells have one of three repeats
    made = ~np.isnan(table.cost[:, :, 0])
    assert {*made.sum(axis=1)} == {1, 2, 3}
    assert np.array_equal(np.isnan(scores(table, "validation_loss")), ~made)
    params = gym.make("NASBenchNLP-wikitext2-v0").unwrapped.params
    last = np.column_stack([np.arange(len(table)), np.full(len(table), len(table.levels) - 1)])
    (found,) = (p for p in pools(["NASBenchNLP"]) if p.name == table.name)
    np.testing.assert_allclose(found.y, np.ravel(params.truth(0, last)))


def test_task_groups_share_one_weight_each_and_pools_of_a_group_the_same() -> None:
    made = [pool("a", "first"), *(pool(f"b{i}", "second", seed=i) for i in range(3))]
    envs = started(SampledTasks(4000, made, 20, 5, Draws(functions=0.2)))
    found = Counter(envs.tasks)
    for name, share in {"function": 0.2, "a": 0.4, "b0": 0.4 / 3, "b1": 0.4 / 3, "b2": 0.4 / 3}.items():
        assert abs(found[name] / 4000 - share) < 4.0 * np.sqrt(share * (1.0 - share) / 4000), name


def test_halves_divide_every_space_alike() -> None:
    one, other = (store.load(f"textmini/{name}-joint") for name in ("reviews", "names"))
    first = in_half(one, 0)
    assert 0.4 < first.mean() < 0.6
    assert np.array_equal(first, ~in_half(one, 1))
    halves = {tuple(row): half for row, half in zip(other.configs.tolist(), in_half(other, 0).tolist(), strict=True)}
    assert [halves[tuple(row)] for row in one.configs.tolist()] == first.tolist()
    seen, hidden = ({p.name: len(p.y) for p in pools(["TextMini"], half=half)} for half in (0, 1))
    for name, count in seen.items():
        assert count + hidden[name] == len(store.load(name))


@pytest.mark.parametrize("m", [20, 7, 3])
def test_subsamples_are_different_rows_and_every_row_is_as_likely(m: int) -> None:
    u = np.random.default_rng(0).random((6000, 5))
    found = _some(u, np.full(6000, m))
    rows = found[:, : min(5, m)]
    assert all(len({*row}) == len(row) for row in rows.tolist())
    share = np.bincount(rows[:, -1], minlength=m) / 6000
    assert np.abs(share - 1.0 / m).max() < 4.5 * np.sqrt(1.0 / m / 6000)


def test_tasks_are_the_same_alone_and_in_a_batch_and_rewards_are_the_tables() -> None:
    made = [pool("a", "a", 30), pool("b", "b", 50, 1)]
    plain = Draws((0.5, 0.8), 0.0, 0.0, 0.0)
    many, one = SampledTasks(8, made, 40, 5, plain), SampledTasks(1, made, 40, 5, plain)
    many.reset(seed=3)
    for i in range(8):
        one.reset(seed=3 + i)
        assert one.tasks[0] == many.tasks[i]
        n = int(one.action_masks().sum())
        x = one.candidates().x[0, :n]
        assert np.array_equal(many.candidates().x[i, :n], x)
        found = next(p for p in made if p.name == one.tasks[0])
        rows = [int(np.flatnonzero(np.isclose(found.x, row).all(axis=1))[0]) for row in x]
        y = found.y[rows]
        expected = np.maximum((y - np.median(y)) / (y.max() - np.median(y)), -1.0)
        assert np.allclose(one._drawn.rewards[0, :n], expected)
        assert max(5, int(0.5 * len(found.y))) <= n <= 0.8 * len(found.y)


def test_sub_spaces_are_intervals_of_one_feature() -> None:
    envs = started(SampledTasks(200, [pool("a", "a", 100)], 60, 5, Draws((1.0, 1.0), 1.0, 0.0, 0.0)))
    x = np.sort(envs.candidates().x, axis=1)
    widths = x[:, -1] - x[:, 0]
    assert (widths.min(axis=1) < 0.8).all()
    assert (widths.max(axis=1) > 0.9).all()


def test_infos_name_table_metric_and_group_also_of_ended_episodes() -> None:
    envs = tasks.make_vec(50, ["TextMini", "NMTHPO"], budget=2)
    _, info = envs.reset(seed=0)
    for _ in range(4):
        table, metric, group = (envs.names[key][info["task"]] for key in ("table", "metric", "group"))
        assert tuple(table) == envs.tasks
        settings = [catalogue.settings().get(name) for name in table]
        assert {name for name, one in zip(table, settings, strict=True) if one is None} == {"function"}
        assert [*metric] == [one.objective if one else "value" for one in settings]
        assert [*group] == [one.group if one else "functions" for one in settings]
        before = info["task"]
        *_, info = envs.step(np.zeros(50, int))
        assert np.array_equal(info.get("final_info", info)["task"], before)


@pytest.mark.parametrize("prior", [priors.smooth, priors.stepwise])
def test_priors_are_standardised_and_follow_the_features(prior: object) -> None:
    rng = np.random.default_rng(0)
    x = priors.points(300, rng)
    y = prior(x, 50, rng)  # type: ignore[operator]
    assert y.shape == (50, 300)
    assert np.allclose(y.mean(axis=1), 0.0)
    assert np.allclose(y.std(axis=1), 1.0)
    distance = np.square(x[:, None] - x[None]).sum(axis=2) + 1e9 * np.eye(300)
    near = distance.argmin(axis=1)
    assert np.mean(y * y[:, near]) > np.mean(y * y[:, rng.permutation(300)]) + 0.2


def test_history_is_what_was_evaluated_in_order() -> None:
    envs = wrappers.for_training(tasks.make_vec(3, candidates=40, budget=5), 40, FEATURES)
    seen, _ = envs.reset(seed=1)
    assert envs.observation_space["history"].shape == (3, 5, 68)
    assert not seen["history"].any()
    features, rewards = seen["hyperparameters"].copy(), []
    for step, action in enumerate((3, 0, 6, 2)):
        seen, *_ = envs.step(np.full(3, action))
        raw = envs.unwrapped._reward
        rewards.append(raw)
        assert np.array_equal(seen["history"][:, step, 4:], features[:, action])
        assert np.allclose(seen["history"][:, step, 2:4], [0.2, 0.8 - 0.2 * step])
        assert not seen["history"][:, step + 1 :].any()
        order = np.argsort(np.stack(rewards, axis=1), axis=1, kind="stable")
        shown = np.take_along_axis(seen["history"][:, : step + 1, 1], order, axis=1)
        assert (np.diff(shown, axis=1) >= -1e-6).all()
    assert envs.observation_space.contains({name: value for name, value in seen.items()})


def test_history_stays_the_same_when_it_is_looked_at_again() -> None:
    x = np.random.default_rng(0).random((6, 3))
    seen = CandidateSet(CandidateArrays.of(x), FEATURES, budget=2)
    for row, left in ((4, 0.5), (1, 0.0)):
        seen.observe(np.array([row]), np.array([float(row)]))
        first, again = (seen.observation(np.array([left]))["history"] for _ in range(2))
        assert np.array_equal(first, again)
    assert first[0, :, :4].tolist() == [[1.0, 1.0, 0.5, 0.5], [1.0, -1.0, 0.5, 0.0]]


def test_what_no_table_has_is_refused() -> None:
    rejects("families must be one of .*, got 'TextMin', did you mean 'TextMini'", tasks.make_vec, 2, ["TextMin"])
    rejects("half must be None, 0 or 1, got 2", tasks.make_vec, 2, half=2)
    envs = tasks.make_vec(2, ["CellMini"])
    rejects("keys of options must be among .none., got 'tabel'", envs.reset, options={"tabel": 1})
    rejects("seed must be at most", envs.reset, seed=2**63)
    rejects("without must leave a table of CellMini", tasks.make_vec, 2, ["CellMini"], ["eng"])
    rejects("usable table with the metric 'blue', got NMTHPO", tasks.make_vec, 2, ["NMTHPO"], objective="blue")


def test_tables_of_ones_own_are_tasks() -> None:
    mine = store.load("nmthpo/zhen").subset(np.arange(40), "user/mine")
    envs = started(tasks.make_vec(4, [mine]))
    assert {*envs.tasks} <= {"function", "user/mine"}


def test_unseen_tables_and_families_share_no_task_group_with_training() -> None:
    for level, name in (("table", "BANKING77, intent"), ("family", "NMTLC"), ("family", "TextMini")):
        train, test = ({p.group for p in pools(**arguments)} for arguments in tasks.unseen(level, name))
        assert test
        assert not train & test
        assert (test == {name}) == (level == "table")


def test_unseen_configurations_are_the_other_half() -> None:
    train, test = (pools(**arguments) for arguments in tasks.unseen("configurations", "NMTHPO"))
    seen = {p.name: {tuple(row) for row in p.x.tolist()} for p in train}
    for p in test:
        assert p.name.startswith("nmthpo/")
        assert not seen[p.name] & {tuple(row) for row in p.x.tolist()}
    rejects("level must be one of .*, got 'tables', did you mean 'table'", tasks.unseen, "tables", "NMTHPO")


def test_observed_rewards_are_in_a_unit_of_each_episode_and_do_not_show_the_best() -> None:
    envs = started(SampledTasks(300, [pool("a", "a", 60)], 40, 39, Draws(functions=0.0)))
    seen, truth = [], []
    for action in range(39):
        observation, reward, done, *_ = envs.step(np.full(300, action))
        if done[0]:
            break
        seen.append(observation[:, 0])
        truth.append(reward)
    seen, truth = np.array(seen), np.array(truth)
    assert all(np.corrcoef(seen[:, i], truth[:, i])[0, 1] > 0.9999 for i in range(300))
    tops = seen[:, truth.max(axis=0) == 1.0].max(axis=0)
    assert np.std(tops) > 0.5
