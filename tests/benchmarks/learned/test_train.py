"""Training of agents by evolution: tasks, episodes, training and the study."""

import functools
import json
from dataclasses import replace
from pathlib import Path

import gymnasium as gym
import numpy as np
import pytest

from hpo_envs import agents
from hpo_envs.agents.models.gp.stacked import LENGTHS, START
from hpo_envs.agents.transfer import learned
from hpo_envs.benchmarks.learned import reproduce, tasks, train
from hpo_envs.benchmarks.learned.tasks import EpisodeDistribution
from hpo_envs.benchmarks.learned.train import Group, Settings
from hpo_envs.benchmarks.papers.common import Reproduction
from hpo_envs.benchmarks.runs import run


def test_task_has_rewards_and_sources_of_its_id() -> None:
    t = tasks.task("NMTHPO-jaen-v0")
    assert (t.languages, sorted(t.sources)) == (("jpn",), [("chi",), ("rus",), ("som",), ("swa",)])
    env = gym.make(t.env_id)
    env.reset(seed=0)
    assert (t.rewards[7], t.predictions.shape) == (env.step(7)[1], (4, len(t.rewards)))
    assert t.correlations.shape == (LENGTHS, len(t.rewards), len(t.rewards))
    np.testing.assert_allclose(t.correlations.diagonal(axis1=1, axis2=2), 1.0)


def test_episodes_are_parts_of_tables_and_sources() -> None:
    pair = [tasks.task(f"NMTHPO-{p}-v0") for p in ("zhen", "swen")]
    how = EpisodeDistribution(rows=30, shares=(0.1, 0.2), some=1.0, mixed=0.0)
    drawn = tasks.draw(pair, 12, frozenset({"som", "rus"}), np.random.default_rng(0), how)
    counts = drawn.tables.valid.sum(axis=1)
    assert counts.max() == 30
    assert (counts >= 11).all()
    assert drawn.tables.used.sum(axis=1).max() <= 3  # ja twice, and the other of the pair
    known = {r for t in pair for r in t.rewards.tolist()}
    for i in range(12):
        rewards = drawn.rewards[i, drawn.tables.valid[i]]
        assert set(rewards.tolist()) <= known
        assert (drawn.best[i], drawn.span[i]) == (rewards.max(), rewards.max() - np.median(rewards))
        for p in drawn.tables.predictions[i, drawn.tables.used[i]]:
            assert abs(p[drawn.tables.valid[i]].mean()) < 1e-9


def test_mixed_rewards_are_new_tasks() -> None:
    t = tasks.task("NMTHPO-zhen-v0")
    how = EpisodeDistribution(rows=50, some=0.0, mixed=1.0)
    drawn = tasks.draw([t], 3, frozenset(), np.random.default_rng(0), how)
    assert len({*drawn.best.tolist()} - {*t.rewards.tolist()}) == 3


def test_flat_tables_are_none_of_ids() -> None:
    assert (len(tasks.ids("CharHPO")), len(tasks.ids("NMTHPO"))) == (22, 6)


FIRST = np.array([[*START.values()]])


def test_models_batched_play_as_agent_does(monkeypatch: pytest.MonkeyPatch) -> None:
    """With all rows and all sources, equal to the agent's run on the id up to ties."""
    t = tasks.task("NMTHPO-ruen-v0")
    whole = tasks.draw(
        [t], 1, frozenset(), np.random.default_rng(0), EpisodeDistribution(10**6, (1.0, 1.0), some=0.0, mixed=0.0)
    )
    numbers = np.concatenate([FIRST, FIRST + 0.3])
    regret = train.play(numbers, whole, 12)
    for i in range(2):
        weights = learned.LearnedNumbers("given", frozenset(), numbers[[i]])
        monkeypatch.setattr(learned, "shipped", functools.partial(tuple, [weights]))
        (one,) = run("learned", t.env_id, [0], env_kwargs={}, budget=12, transfer="family")
        best = (whole.best - np.maximum.accumulate(one.rewards)) / whole.span
        np.testing.assert_allclose(regret[i, 0], np.clip(best, 0.0, 1.0), atol=1e-9)
    assert agents.entry("learned").target.endswith(":Learned")


def test_training_is_repeatable_and_lowers_score() -> None:
    t = [tasks.task(f"NMTHPO-{p}-v0") for p in ("zhen", "ruen", "jaen")]
    s = replace(Settings(), generations=3, pairs=3, episodes=3, every=1, validation=3)
    looks: list[tuple[int, float, float]] = []
    one = train.evolve(t[:2], t[2:], frozenset(), s, 0, lambda *look: looks.append(look))
    assert [g for g, *_ in looks] == [0, 1, 2, 3]
    np.testing.assert_array_equal(one, train.evolve(t[:2], t[2:], frozenset(), s, 0))
    checked = tasks.draw(t[2:], 3, frozenset(), np.random.default_rng([0, 1]), tasks.AS_USED)
    score = train.scores(train.play(one[None], checked, 20), s.final).mean()
    assert score == min(found for _, found, _ in looks)
    last = train.evolve(t[:2], [], frozenset(), s, 0)
    assert not np.array_equal(last, FIRST[0])


def test_scores_weigh_end() -> None:
    regret = np.array([[[1.0, 0.5, 0.0], [1.0, 1.0, 0.6]]])
    np.testing.assert_allclose(train.scores(regret, 0.5), [[0.5, 0.8667 + 0.3]], atol=1e-4)


def test_training_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["--only", "CharHPO", "--generations", "1", "--seeds", "1", "--out", str(tmp_path)]
    train.main(command)
    file = json.loads((tmp_path / "learned.json").read_text())
    assert file["names"] == list(START)
    (weights,) = file["weights"]
    assert weights["languages"] == [*"alb ara arm cat dut geo gle hai hun rum".split()]
    assert len(weights["seeds"][0]["numbers"]) == len(START)
    log = (tmp_path / "training.csv").read_text()
    assert log.startswith("weights,seed,generation,validation,cpu_seconds\nCharHPO,0,0,")
    assert "CharHPO 0 1 " in capsys.readouterr().out


def test_language_that_is_left_out_is_no_target_and_no_source() -> None:
    group = Group("without ja", ("NMTHPO",), ("jpn",))
    assert group.languages == {
        f"NMTHPO-{pair}-v0": (language,)
        for pair, language in {"zhen": "chi", "ruen": "rus", "swen": "swa", "soen": "som"}.items()
    }
    assert not {i for i in Group("every", tasks.FAMILIES).languages if i in tasks.FLAT}


def test_shipped_weights_are_those_of_command() -> None:
    assert [w.name for w in learned.shipped()] == [g.name for g in train.groups()]


@pytest.mark.parametrize(
    ("part", "name", "methods", "pair"),
    [("agents", "agents", 3, "learned,zero-shot"), ("policy", "policies", 3, 'policy,"policy, untrained"')],
)
def test_study_runs(
    part: str,
    name: str,
    methods: int,
    pair: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(reproduce, "every_id", lambda: ["NMTHPO-zhen-v0", "NMTHPO-ruen-v0"])
    monkeypatch.setattr(reproduce, "METHODS", {m: reproduce.METHODS[m] for m in ("zero-shot", "untrained", "learned")})
    few = {m: reproduce.POLICIES[m] for m in ("ridge", "policy", "policy, untrained")}
    monkeypatch.setattr(reproduce, "POLICIES", few)
    reproduce.PARTS[part](Reproduction(tmp_path, trials=2))
    assert (tmp_path / f"{name}.csv").read_text().count("\n") == 1 + 2 * methods
    assert (tmp_path / f"{name}_differences.csv").read_text().count(pair) == 4  # two scores; both groups
    assert "2 seeds, 20 evaluations" in capsys.readouterr().out


def test_differences_are_over_tables_and_over_groups_of_them() -> None:
    japanese, others = ["NMTHPO-jaen-v0", "NMTHPO-enja-v0"], ["NMTHPO-zhen-v0", "NMTHPO-ruen-v0"]
    rng = np.random.default_rng(0)
    found = {}
    for i in (*japanese, *others):
        found[i, "untrained"] = np.full((2, 6), 0.5) + 0.01 * rng.normal(size=(2, 6))
        found[i, "learned"] = found[i, "untrained"] + (0.3 if i in japanese else -0.1)
    records = reproduce.overall(found)
    assert {r["tables"] for r in records} == {"all", "NMTHPO"}
    first = records[0]
    assert (first["method"], first["minus"], first["better on"]) == ("learned", "untrained", "2/4")
    assert float(first["difference"]) == pytest.approx(0.1)
    assert float(first["over groups"]) == pytest.approx(0.1 / 3, abs=1e-3)
    del found[others[0], "learned"]  # a study that is not complete
    first = reproduce.overall(found)[0]
    assert (first["better on"], float(first["difference"])) == ("1/3", pytest.approx(0.5 / 3, abs=1e-4))
