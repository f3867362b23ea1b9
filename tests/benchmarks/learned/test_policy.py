"""Training of the weights of `learned-policy`."""

import numpy as np
import pytest

from hpo_envs.agents.models.gp.sources import source_gp
from hpo_envs.benchmarks.learned import policy
from hpo_envs.benchmarks.tasks.sampled import SampledTasks
from hpo_envs.wrappers import for_training


def test_natural_step_prefers_what_paid_and_has_its_divergence() -> None:
    rng, columns = np.random.default_rng(0), np.random.default_rng(1).standard_normal((30, 3))
    p = np.full(30, 1 / 30)
    rows = rng.integers(30, size=4000)
    step = policy.natural_step(columns[rows] - p @ columns, columns[rows, 0] - 0.5 * columns[rows, 1], 0.01)
    after = policy.probabilities(step, {"candidates": columns[None], "mask": np.ones((1, 30))})[0]
    assert step[0] > 0.0 > step[1]
    assert abs(step[2]) < 0.3 * step[0]
    assert float((p * np.log(p / after)).sum()) == pytest.approx(0.01, rel=0.5)


def test_training_beats_its_untrained_start_by_a_margin() -> None:
    pools = policy.with_sources([p for p in policy.usable("CharHPO") if p.languages[0] in ("dut", "hun", "alb")])
    envs = for_training(SampledTasks(32, pools, 40, policy.EVALUATIONS, copies=policy.COPIES), 40, policy.FEATURES)
    looks = for_training(SampledTasks(64, pools, 40, policy.EVALUATIONS), 40, policy.FEATURES)
    w, rng = np.zeros(6), np.random.default_rng(0)
    before, (observation, _) = policy.regret(w, looks), envs.reset(seed=1)
    for _ in range(8):
        gradients, advantages, observation = policy.play(w, envs, observation, rng)
        w = w + policy.natural_step(gradients, advantages, 0.1)
    after = policy.regret(w, looks)
    assert after[0] < before[0] - 0.05, (before, after)
    assert before == policy.regret(None, looks)


def test_copies_of_a_task_are_neighbours() -> None:
    envs = SampledTasks(6, policy.usable("CharHPO"), 40, policy.EVALUATIONS, copies=3)
    envs.reset(seed=0)
    x = envs.candidates().x
    assert (x[0] == x[2]).all()
    assert (x[3] == x[5]).all()
    assert (x[0] != x[3]).any()


def test_imitation_follows_its_source_model_on_unseen_configurations(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(policy, "CROSSED", 400)
    pool, other = policy.usable("CharHPO")[0], policy.usable("CharHPO")[2]
    model, (_, d) = source_gp(pool.x, pool.y), pool.x.shape
    network = policy.imitation(pool.x, model)
    assert network.shape == (policy.UNITS, d + 2)
    units = np.tanh((2.0 * other.x - 1.0) @ network[:, :d].T + network[:, d])
    assert np.corrcoef(units @ network[:, d + 1], model.predict(other.x))[0, 1] > 0.8
