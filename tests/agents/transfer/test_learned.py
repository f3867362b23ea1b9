"""The learned optimiser: its posterior, its inputs, its training, its weights, and what it is worth."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import gymnasium as gym
import numpy as np
import pytest

from hpo_envs import agents
from hpo_envs.agents import Problem
from hpo_envs.agents.models.mixture import CONSTANT, Family, Hypotheses, MixturePosterior, basis
from hpo_envs.agents.transfer import acquisition_net, learned
from hpo_envs.agents.transfer.acquisition_net import INPUTS, SIZE
from hpo_envs.benchmarks.learned import analysis, evolution, reproduce, settings, tables, train
from hpo_envs.benchmarks.papers.common import Reproduction
from hpo_envs.benchmarks.runs import problem_of, run
from hpo_envs.tables import store

FAMILY = Family(np.array([0.5, 2.0, 1.0]), np.linspace(-1.0, 1.0, 10))


def candidates(n: int = 30, d: int = 3, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).random((n, d)).round(2)


@pytest.mark.parametrize("family", [None, FAMILY], ids=["generic", "family"])
def test_posterior_is_that_of_dense_algebra(family: Family | None) -> None:
    x, rng = candidates(), np.random.default_rng(1)
    h = Hypotheses(x, family)
    assert len(h) == (6 if family is None else 8)
    posterior = MixturePosterior(h, 2, capacity=2)
    rows = np.array([[3, 9, 3, 20, 7], [1, 2, 4, 8, 16]])  # one candidate twice
    for t in range(5):
        posterior.observe(rows[:, t])
    z = rng.normal(size=(2, 5))
    means, variances, weights = posterior.predict(z)
    gram = h.gram()
    for r in range(2):
        log = np.empty(len(h))
        for g in range(len(h)):
            k = gram[g][np.ix_(rows[r], rows[r])] + h.noise[g] * np.eye(5)
            cross, prior = gram[g][:, rows[r]], h.slope[g] * h.expectation
            e = z[r] - prior[rows[r]]
            scale, shape = 0.5 * e @ np.linalg.solve(k, e) + 1.0, 3.5
            assert np.allclose(means[g, r], prior + cross @ np.linalg.solve(k, e))
            exact = np.diag(gram[g]) - np.einsum("ij,ji->i", cross, np.linalg.solve(k, cross.T))
            assert np.allclose(variances[g, r], exact * scale / shape, atol=1e-8)
            log[g] = h.log_weight[g] - 0.5 * np.linalg.slogdet(k)[1] - shape * np.log(scale)
        expected = np.exp(log - log.max())
        assert np.allclose(weights[:, r], expected / expected.sum())
    assert np.allclose(gram.diagonal(axis1=1, axis2=2), h.variance)


def test_hypotheses_cover_what_is_said_of_them() -> None:
    x = candidates()
    gram = Hypotheses(x, FAMILY).gram() - CONSTANT
    same = x.copy()
    same[:, 1] = 0.7  # what does not matter may be anything
    assert np.allclose(gram[4], Hypotheses(same, FAMILY).gram()[4] - CONSTANT)
    assert not np.allclose(gram[3], Hypotheses(same, FAMILY).gram()[3] - CONSTANT)
    assert len(Hypotheses(candidates(d=9), None)) == 3
    assert abs(FAMILY.expectation(x).mean()) < 1e-12
    assert FAMILY.expectation(x).std() == pytest.approx(1.0)
    assert basis(x).shape == (30, 10)


def test_log_ranks() -> None:
    free = np.array([[True, True, False, True]])
    ranks = acquisition_net.log_ranks(np.array([[0.1, 5.0, 9.0, 2.0]]), free)
    assert ranks[0] == pytest.approx(np.log([3, 1, 4, 2]) / np.log(5))


def test_the_network_is_the_documented_function() -> None:
    rng = np.random.default_rng(0)
    x, w = rng.normal(size=(4, 5, len(INPUTS))), rng.normal(size=(2, SIZE))
    got = acquisition_net.score(x, w)
    d, k = len(INPUTS), acquisition_net.HIDDEN
    for episode in range(4):
        own = w[episode // 2]
        first, rest = own[: d * k].reshape(d, k), own[d * k :]
        hidden = np.maximum(x[episode] @ first + rest[:k], 0.0)
        assert np.allclose(got[episode], hidden @ rest[k : 2 * k] + x[episode] @ rest[2 * k :])


def trained_weights(seed: int = 0) -> np.ndarray:
    return evolution.start(np.random.default_rng(seed)) + 0.1 * np.random.default_rng(seed).normal(size=SIZE)


def test_trainer_and_agent_play_the_same_game() -> None:
    """The network that was trained on batches is the one that the agent uses, through ask and tell."""
    x, y = candidates(40), np.random.default_rng(5).normal(size=40)
    w, budget, episodes = trained_weights(), 12, 4
    regret = evolution.play(w[None], Hypotheses(x, FAMILY), y, budget, episodes, np.random.default_rng(3))[0]
    first = np.random.default_rng(3).integers(40, size=episodes)
    problem = Problem(gym.spaces.Discrete(40), x, ("a", "b", "c"), budget=budget)
    for e in range(episodes):
        agent = agents.make("learned", problem, 0, weights=w, knowledge=FAMILY)
        seen = []
        for t in range(budget):
            action = int(first[e]) if t == 0 else agent.ask()
            seen.append(y[action])
            agent.tell(action, y[action], {"cost": 1.0})
        assert np.allclose(y.max() - np.maximum.accumulate(seen), regret[e])


def test_units_of_the_reward_do_not_matter() -> None:
    x, y = candidates(40), np.random.default_rng(5).normal(size=40)
    problem = Problem(gym.spaces.Discrete(40), x, ("a", "b", "c"), budget=15)
    chosen = []
    for values in (y, 1e3 * y - 7.0, 1e-3 * y + 2.0):
        agent = agents.make("learned", problem, 1)
        actions = []
        for _ in range(15):
            actions.append(agent.ask())
            agent.tell(actions[-1], values[actions[-1]], {"cost": 1.0})
        chosen.append(actions)
        assert len(set(actions)) == 15
    assert chosen[0] == chosen[1] == chosen[2]


def test_more_candidates_and_evaluations_than_are_modelled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(learned, "LARGEST", 20)
    monkeypatch.setattr(learned, "LONGEST", 5)
    agent = agents.make("learned", Problem(gym.spaces.Discrete(50), candidates(50), ("a", "b", "c")), 2)
    actions = []
    for _ in range(50):
        actions.append(agent.ask())
        agent.tell(actions[-1], float(actions[-1]), {"cost": 1.0})
    assert sorted(actions) == list(range(50))
    assert agent.recommend() == 49


def test_constant_rewards_and_equal_candidates() -> None:
    agent = agents.make("learned", Problem(gym.spaces.Discrete(6), np.full((6, 2), 0.5), ("a", "b"), budget=6), 0)
    for _ in range(6):
        agent.tell(agent.ask(), 3.0, {"cost": 1.0})
    assert agent.done is False


def test_wrong_arguments() -> None:
    env = gym.make("NMTHPO-zhen-v0", table="surrogate")
    problem = problem_of(env)
    with pytest.raises(ValueError, match="family must be auto or one of .*, got 'bert'"):
        agents.make("learned", problem, 0, family="bert")
    with pytest.raises(ValueError, match="without must be None or one of zhen, .*, got 'deen'"):
        agents.make("learned", problem, 0, without="deen")
    with pytest.raises(ValueError, match="family must have the problem's 6 features, got 18"):
        agents.make("learned", problem, 0, family="charhpo")
    with pytest.raises(ValueError, match=f"weights must have shape \\({SIZE},\\), got \\(3,\\)"):
        agents.make("learned", problem, 0, weights=np.zeros(3))
    with pytest.raises(ValueError, match="one objective"):
        agents.make("learned", replace(problem, objectives=2), 0)


# -- the shipped weights -------------------------------------------------------------------------------------------


def test_families_are_recognised() -> None:
    for env_id, family in {
        "NMTHPO-soen-v0": "nmthpo",
        "CharHPO-g2p-geo-lstm-v0": "charhpo",
        "NASBenchNLP-ptb-final-v0": "generic",
    }.items():
        assert learned.family_of(problem_of(gym.make(env_id, table="surrogate")).feature_names) == family


@pytest.mark.parametrize("file", train.FILES)
def test_files_are_complete(file: str) -> None:
    arrays, names = learned._file(file)
    assert arrays["folds"].tolist() == train.folds(file)
    assert arrays["weights"].shape == (len(train.folds(file)), SIZE)
    assert all(np.isfinite(a).all() for k, a in arrays.items() if k not in ("folds", "feature_names"))
    assert (learned.DATA / f"learned_{file}.npz").stat().st_size < 60_000
    # What was learned from different tables differs, or nothing was left out.
    learned_from = arrays["prior"] if file in train.TEACHERS else arrays["weights"]
    assert len({w.tobytes() for w in learned_from}) == len(train.folds(file))
    if file in train.TEACHERS:
        other, _ = learned.load(train.TEACHERS[file])
        assert (arrays["weights"] == other.astype(np.float32)).all()
    if file != learned.GENERIC:
        name = tables.FAMILIES[file.partition("-")[0]][1][0]
        assert names == store.load(name, "surrogate").feature_names


@pytest.mark.parametrize(("file", "kind"), [("nmthpo", "measured"), ("nmthpo-embedded", "surrogate")])
def test_what_a_fold_knows_comes_from_the_other_tables(file: str, kind: str) -> None:
    """Computed again without the table left out: it cannot have been used."""
    if kind == "measured" and any(store.missing(t) for t in tables.FAMILIES["nmthpo"][1]):
        pytest.skip("measured tables are not installed")
    every = tables.tasks("nmthpo", kind)
    for fold in train.folds(file):
        _, shipped = learned.load(file, fold or None)
        assert shipped is not None
        again = tables.knowledge(train.seen(every, fold))
        assert np.allclose(shipped.prior, again.prior, rtol=1e-3, atol=1e-4)
        assert np.allclose(shipped.lengths, again.lengths, rtol=1e-2)
    assert {t.language for t in train.seen(every, "zhen")} == {"ruen", "jaen", "enja", "swen", "soen"}
    assert {t.language for t in train.seen(every, "ja")} == {"zhen", "ruen", "swen", "soen"}


@pytest.mark.measured
@pytest.mark.parametrize("pair", ["zhen", "ruen", "enja"])
def test_better_than_random_search_on_a_pair_never_seen(pair: str) -> None:
    todo = [settings.Setting("nmthpo", f"nmthpo/{pair}", m, "measured") for m in ("learned", "random")]
    ours, chance = (settings.regrets(c, range(40))[:, -1].mean() for c in todo)
    assert ours < 0.7 * chance


def test_generic_weights_beat_random_search_on_rows_of_another_kind() -> None:
    """Fine-tuned language models, features that no family has; each row trained to its end."""
    kwargs = {"table": "surrogate", "cost": "evaluations", "budget": 15}
    best = [
        np.mean([r.rewards.max() for r in run(a, "NMTLC-ft-fren-v0", range(20), env_kwargs=kwargs)])
        for a in ("learned", "random")
    ]
    assert best[0] > best[1]


# -- training ------------------------------------------------------------------------------------------------------


def toy(slope: float, seed: int) -> tables.Task:
    """A smooth table whose two features act like `slope`, so that tables of equal slope teach each other."""
    rng = np.random.default_rng(seed)
    x = rng.random((30, 2)).round(2)
    y = slope * (x[:, 0] - x[:, 1]) + 0.1 * rng.normal(size=30)
    return tables.Task(f"toy/{seed}", str(seed), x, y, tables.normal_scores(y), np.array([1.0, 1.0]))


def test_training_is_a_function_of_its_seed_and_moves() -> None:
    settings = replace(evolution.Settings(), generations=2, population=4, episodes=2, budgets=(5,))
    every = [toy(1.0, s) for s in range(3)]
    weights = [train.train_fold(every, "1", True, settings, seed).weights for seed in (0, 0, 1)]
    assert np.array_equal(weights[0], weights[1])
    assert not np.array_equal(weights[0], weights[2])
    assert not np.allclose(weights[0], evolution.start(np.random.default_rng(0)))
    unlike = train.train_fold([*every[:1], toy(-1.0, 1), *every[2:]], "1", True, settings, 0)
    assert np.array_equal(weights[0], unlike.weights), "the table left out mattered"


def test_evolution_climbs() -> None:
    """Tables that contradict each other: a network that starts by trusting the others learns not to."""
    settings = replace(evolution.Settings(), generations=25, population=16, episodes=3, budgets=(6,), flipped=0.0)
    trainer = evolution.Trainer([toy(s, i) for i, s in enumerate((1.0, 1.0, 1.0, 1.0))], True, settings, 0)
    trainer.known = [tables.knowledge([toy(-1.0, 9)])] * 4
    first = evolution.start(np.random.default_rng(0))
    last = trainer.train(lambda *_: None)
    trainer.rng = np.random.default_rng(77)
    fitness = np.mean([trainer.fitness(np.stack([first, last])) for _ in range(20)], axis=0)
    assert fitness[1] > fitness[0] + 0.05


def test_random_regret_is_that_of_random_search() -> None:
    y = np.random.default_rng(0).normal(size=25)
    rng = np.random.default_rng(1)
    drawn = [y.max() - y[rng.permutation(25)[:5]].max() for _ in range(20000)]
    assert evolution.random_regret(y, 5) == pytest.approx(np.mean(drawn), abs=0.01)


def test_training_command(tmp_path: Path) -> None:
    out = ["--out", str(tmp_path), "--generations", "1"]
    assert train.main(["--only", "nmthpo", "--fold", "zhen", "--kind", "surrogate", *out]) == 0
    with np.load(tmp_path / "learned_nmthpo.npz") as data:
        assert data["folds"].tolist() == ["zhen"]
        assert data["weights"].shape == (1, SIZE)
    assert (tmp_path / "training_nmthpo.csv").read_text().startswith("file,fold,generation,fitness")
    assert train.main(["--only", "charhpo", "--kind", "surrogate", *out]) == 0
    with np.load(tmp_path / "learned_charhpo.npz") as data:
        assert data["folds"].tolist() == train.folds("charhpo")
        assert len({w.tobytes() for w in data["weights"]}) == 1
    assert (tmp_path / "training_charhpo.csv").read_text().count("charhpo,-,0,-") == 1
    with pytest.raises(SystemExit, match="--fold must be one of zhen"):
        train.main(["--only", "nmthpo", "--fold", "deen", *out])


# -- the study -----------------------------------------------------------------------------------------------------


def test_verdicts_on_invented_regrets() -> None:
    rng = np.random.default_rng(0)
    regrets = {}
    for t in ("a", "b"):
        base = rng.random((40, 4)) + 1.0
        regrets[t, "random"] = base
        regrets[t, "learned"] = base - (0.5 if t == "a" else 0.0)
        regrets[t, "bo"] = base + 0.3
    found = {(r.table, r.method): r for r in analysis.rows(regrets)}
    assert found["a", "learned"].verdict == "better"
    assert found["b", "learned"].verdict == "tie"
    assert found["a", "bo"].verdict == found["b", "bo"].verdict == "worse"
    over = {r["method"]: r for r in analysis.overall(regrets, {"a": 1.0, "b": 2.0})}
    assert float(over["bo"]["difference"]) == pytest.approx(-(0.8 + 0.3 / 2) / 2, abs=1e-3)
    assert over["bo"]["learned_is"] == "better"
    assert "better" not in over["learned"]
    text = analysis.format_rows(list(found.values()), "BLEU")
    assert text.count("*") == 1
    assert text.count(" x") == 2


def test_study_runs_on_embedded_tables(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    todo = [
        settings.Setting("nmthpo", f"nmthpo/{pair}", m, "surrogate")
        for pair in ("zhen", "jaen")
        for m in ("random", "start", "learned", "embedded", "generic", "japanese")
        if m != "japanese" or pair == "jaen"
    ]
    reproduce.compare("nmt", todo, Reproduction(tmp_path, trials=3))
    text = (tmp_path / "nmt_tables.csv").read_text()
    assert text.count("\n") == 1 + len(todo)
    assert (tmp_path / "nmt_overall.csv").read_text().count("\n") == 6
    assert "nmthpo/zhen" in capsys.readouterr().out


def test_every_family_table_and_part_is_covered() -> None:
    assert {c.table for c in settings.settings("charhpo", "surrogate")} == set(tables.FAMILIES["charhpo"][1])
    assert len(settings.settings("nmthpo", "surrogate", ("japanese",))) == 2
    assert set(reproduce.PARTS) == set(reproduce.TITLES)
