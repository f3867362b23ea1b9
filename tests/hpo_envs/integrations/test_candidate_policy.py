"""A policy that scores candidates, trained by unmodified maskable PPO (extra `rl`)."""

from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from hpo_envs.agents.models import candidate_net
from hpo_envs.agents.models.candidate_set import joined
from hpo_envs.agents.transfer import policy_file
from hpo_envs.benchmarks import tasks
from hpo_envs.benchmarks.tasks.sampled import Draws
from hpo_envs.wrappers import CandidateObservation, for_training

pytest.importorskip("sb3_contrib", reason="extra rl is not installed")

import torch
from sb3_contrib import MaskablePPO
from stable_baselines3.common.vec_env import DummyVecEnv, VecNormalize

from hpo_envs.integrations.candidate_policy import CandidatePolicy, save_policy
from hpo_envs.integrations.sb3 import SB3VecEnv


def environments(num_envs: int, candidates: int = 24, **more: Any) -> Any:
    arguments = {"families": ("CharHPO",), "objective": "accuracy", "without": ("ron", "kat"), "budget": 6, **more}
    return for_training(tasks.make_vec(num_envs, candidates=candidates, **arguments), candidates)


def random_policy(candidates: int) -> tuple[Any, Any]:
    """A policy with the same weights for any number of candidates, and an environment for it."""
    envs = environments(3, candidates)
    policy = CandidatePolicy(envs.single_observation_space, envs.single_action_space, lambda left: 1e-3)
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for p in policy.parameters():
            p.copy_(torch.randn(p.shape, generator=generator) / 4.0)
    return policy, envs


def scores(policy: Any, observation: dict[str, np.ndarray]) -> np.ndarray:
    tensors, _ = policy.obs_to_tensor(observation)
    with torch.no_grad():
        return policy.get_distribution(tensors).distribution.logits.numpy()  # type: ignore[no-any-return]


@pytest.mark.parametrize("candidates", [24, 37])
def test_scores_follow_permutations_and_equal_numpys_for_any_number(candidates: int) -> None:
    policy, envs = random_policy(candidates)
    envs.reset(seed=0)
    for action in (3, 8):
        seen, *_ = envs.step(np.full(3, action))
    found = scores(policy, seen)
    order = np.random.default_rng(0).permutation(candidates)
    moved = {name: v[:, order] if v.shape[1] == candidates else v for name, v in seen.items()}
    np.testing.assert_allclose(scores(policy, moved), found[:, order], atol=1e-5)
    for i in range(3):
        mask = seen["mask"][i] > 0.5
        ours = candidate_net.scores(policy.weights(), joined(seen)[i], mask, seen["context"][i])
        np.testing.assert_allclose(ours - ours[0], found[i] - found[i, 0], atol=1e-4)
    with torch.no_grad():
        values = [policy.predict_values(policy.obs_to_tensor(x)[0]) for x in (moved, seen)]
    assert torch.allclose(*values, atol=1e-5)


def test_weights_have_the_shapes_that_files_expect() -> None:
    policy, envs = random_policy(24)
    columns = sum(envs.single_observation_space[name].shape[1] for name in ("candidates", "hyperparameters"))
    assert {k: v.shape for k, v in policy.weights().items()} == candidate_net.shapes(columns, policy.hidden)


def mean_regret(policy: Any, envs: Any) -> float:
    """Mean regret of sampled actions, on the same episodes in every call."""
    torch.manual_seed(0)
    observation, _ = envs.reset(seed=0)
    best, lost = np.zeros(envs.num_envs), []
    for _ in range(envs.unwrapped.budget):
        actions, _ = policy.predict(observation, action_masks=envs.action_masks())
        observation, gains, *_ = envs.step(actions)
        best += gains
        lost.append(1.0 - best.mean())
    return float(np.mean(lost))


def test_training_beats_its_untrained_start_and_the_file_is_an_agent(tmp_path: Path) -> None:
    from hpo_envs.benchmarks import run

    exact = Draws(sub_space=0.0, functions=0.0, mixed=0.0)
    envs, looks = environments(48, draws=exact), environments(128, draws=Draws((0.8, 0.8), 0.0, 0.0, 0.0))
    model = MaskablePPO(
        CandidatePolicy, SB3VecEnv(envs), n_steps=6, batch_size=96, n_epochs=4, gamma=0.95, gae_lambda=1.0,
        learning_rate=5e-3, ent_coef=0.002, seed=0, device="cpu",
    )  # fmt: skip
    torch.set_num_threads(1)
    before = mean_regret(model.policy, looks)
    model.learn(6 * 48 * 20)
    after = mean_regret(model.policy, looks)
    assert after < before - 0.05, (before, after)
    file = save_policy(model, tmp_path / "tiny")
    (found,) = policy_file.read(str(file)).trained
    assert found.feature_names[0] == "batch_size"
    assert "dut" in found.languages
    assert not {"rum", "geo"} & found.languages
    given = policy_file.arguments(str(file))
    (one,) = run("hpo_envs.agents.transfer.policy:Policy", "CharHPO-g2p-geo-transformer-v0", [0], budget=3, **given)
    assert "seen" not in one.header
    with pytest.raises(ValueError, match="model must have a CandidatePolicy"):
        save_policy(MaskablePPO("MultiInputPolicy", SB3VecEnv(envs), device="cpu"), file)


def test_weights_that_diverged_leave_the_last_file(tmp_path: Path) -> None:
    _, envs = random_policy(24)
    model = MaskablePPO(CandidatePolicy, SB3VecEnv(envs), device="cpu")
    before = save_policy(model, tmp_path / "p.npz").read_bytes()
    for value in (float("nan"), 1e6):
        with torch.no_grad():
            next(iter(model.policy.features_extractor.parameters())).fill_(value)
        with pytest.raises(ValueError, match="weights must be finite numbers of float16, got others in 0/0/"):
            save_policy(model, tmp_path / "p.npz")
    assert (tmp_path / "p.npz").read_bytes() == before


def test_the_file_has_the_languages_of_all_environments_and_the_inputs_of_training(tmp_path: Path) -> None:
    made = [lambda i=i: for_training(gym.make(f"CharHPO-g2p-{i}-v0")) for i in ("hun-lstm", "dut-lstm")]
    envs = DummyVecEnv(made)
    model = MaskablePPO(CandidatePolicy, envs, device="cpu")
    for given in (None, [make() for make in made]):
        (found,) = policy_file.read(str(save_policy(model, tmp_path / "both", given))).trained
        assert found.languages == {"dut", "hun"}
    with pytest.raises(ValueError, match="env must show the model's observations, with the same features and numbers"):
        save_policy(model, tmp_path / "other", CandidateObservation(gym.make("CharHPO-g2p-hun-lstm-v0"), 9))
    numbers = [CandidateObservation(gym.make("CharHPO-g2p-hun-lstm-v0"), numbers={"slope": x}) for x in (0.1, 0.2)]
    with pytest.raises(ValueError, match="env must show the model's observations, with the same features and numbers"):
        save_policy(model, tmp_path / "other", numbers)
    normalised = MaskablePPO(CandidatePolicy, VecNormalize(envs), device="cpu")
    with pytest.raises(ValueError, match="env must show the model's observations, with the same features and numbers"):
        save_policy(normalised, tmp_path / "other")
    save_policy(MaskablePPO(CandidatePolicy, VecNormalize(envs, norm_obs=False), device="cpu"), tmp_path / "rewards")
