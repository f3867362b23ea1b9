"""Trained policies run as agents as they ran in training, wrapper for wrapper (extra `rl`)."""

from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode
from gymnasium.wrappers import FrameStackObservation, RescaleAction

from hpo_envs.benchmarks import problem_of, run
from hpo_envs.benchmarks.runs.episodes import seeds_of
from hpo_envs.benchmarks.study import scheduler, store, study
from hpo_envs.benchmarks.study.policies import arguments
from hpo_envs.wrappers import (
    CandidateObservation,
    ContinuousAction,
    FlattenAction,
    HistoryObservation,
    ImprovementReward,
    vector,
)

pytest.importorskip("stable_baselines3", reason="extra rl is not installed")
pytest.importorskip("sb3_contrib", reason="extra rl is not installed")

import sb3_contrib
import stable_baselines3
from stable_baselines3.common.vec_env import DummyVecEnv, VecFrameStack, VecNormalize

from hpo_envs.integrations.policy import TrainedPolicy
from hpo_envs.integrations.sb3 import SB3VecEnv, save_policy

ROWS, GRID, BOX, CURVES = "NMTHPO-zhen-v0", "NMTHPO-v0", "CharHPO-v0", "NMTLC-ft-zhen-v0"
TABLE = {"shuffle": False}
VALUES = {}


def made(env_id: str) -> Any:
    return gym.make(env_id, budget=5 if env_id != CURVES else 60)


def plain(env: Any) -> Any:
    return env


CASES = {
    "PPO": (stable_baselines3, GRID, lambda e: HistoryObservation(ImprovementReward(e), 3)),
    "DQN": (stable_baselines3, CURVES, FlattenAction),
    "TD3": (stable_baselines3, ROWS, ContinuousAction),
    "SAC": (stable_baselines3, BOX, lambda e: FrameStackObservation(RescaleAction(e, -3.0, 3.0), 2)),
    "TQC": (sb3_contrib, BOX, plain),
    "QRDQN": (sb3_contrib, ROWS, CandidateObservation),
    "RecurrentPPO": (sb3_contrib, GRID, plain),
    "MaskablePPO": (sb3_contrib, CURVES, FlattenAction),
}


def model_of(name: str, env: Any) -> Any:
    package = CASES[name][0]
    net = {"lstm_hidden_size": 4} if name == "RecurrentPPO" else {}
    policy = "MlpLstmPolicy" if name == "RecurrentPPO" else "MlpPolicy"
    buffer = {"buffer_size": 10} if hasattr(getattr(package, name), "load_replay_buffer") else {}
    policy_kwargs = {"net_arch": [8], **net}
    return getattr(package, name)(policy, env, seed=0, device="cpu", policy_kwargs=policy_kwargs, **buffer)


def rolled_out(model: Any, env: Any, env_id: str, seed: int, inner: list[Any]) -> list[Any]:
    """What stable-baselines3's own `predict` does in an episode, in the actions of the bare environment."""
    observation, _ = env.reset(seed=seeds_of(env_id, seed)[0])
    inner.clear()
    memory, start, over = None, np.array([True]), False
    while not over:
        masks = {"action_masks": env.get_wrapper_attr("action_masks")()} if "Maskable" in type(model).__name__ else {}
        action, memory = model.predict(observation, memory, start, deterministic=True, **masks)
        observation, _, over, _, _ = env.step(action)
        start = np.array([False])
    return inner


class Keeps(gym.Wrapper):  # type: ignore[type-arg]
    """Innermost: keeps the actions that reach the environment."""

    def __init__(self, env: Any, kept: list[Any]) -> None:
        super().__init__(env)
        self.kept = kept

    def step(self, action: Any) -> Any:
        self.kept.append(np.asarray(action).tolist())
        return super().step(action)


@pytest.mark.parametrize("name", list(CASES))
def test_policy_acts_as_it_did_in_training(name: str, tmp_path: Path) -> None:
    _, env_id, wrapped = CASES[name]
    model = model_of(name, wrapped(made(env_id)))
    file = save_policy(model, tmp_path / name)
    budget = made(env_id).unwrapped.budget
    rows = TABLE if env_id in (ROWS, CURVES) else VALUES
    runs = run(TrainedPolicy, env_id, range(2), budget=budget, env_kwargs=rows, **arguments(str(file)))
    kept: list[Any] = []
    env = wrapped(Keeps(made(env_id), kept))
    for r in runs:
        expected = rolled_out(model, env, env_id, r.seed, kept)
        assert np.array_equal(r.actions, np.clip(expected, -1, 1) if env_id == BOX else expected), name
        assert r.header["hyperparameters"]["sha256"] == arguments(str(file))["sha256"]
        assert "seen" in r.header
        assert r.recommended in r.actions if r.actions.ndim == 1 else r.recommended.tolist() in r.actions.tolist()


def test_rows_are_tables_whatever_order(tmp_path: Path) -> None:
    file = arguments(str(save_policy(model_of("QRDQN", made(ROWS)), tmp_path / "rows")))
    in_order, mixed = (
        run(TrainedPolicy, ROWS, range(3), budget=5, env_kwargs={**TABLE, "shuffle": shuffle}, **file)
        for shuffle in (False, True)
    )
    assert [r.actions.tolist() for r in in_order] == [r.actions.tolist() for r in mixed]
    # Without the row that is meant, the nearest one that there is.
    env = made(ROWS)
    features = env.unwrapped.table.features
    (part,) = run(TrainedPolicy, ROWS, [0], budget=1, env_kwargs={"subsample": 0.1}, **file)
    meant, taken = in_order[0].actions[0], part.actions[0]
    assert taken != meant
    distance = np.sort(((features - features[meant]) ** 2).sum(axis=1))
    assert ((features[taken] - features[meant]) ** 2).sum() <= distance[len(distance) // 2]
    masked = CASES["MaskablePPO"][0].MaskablePPO("MlpPolicy", env, seed=0, device="cpu")
    file = arguments(str(save_policy(masked, tmp_path / "masked")))
    (part,) = run(TrainedPolicy, ROWS, [0], budget=12, env_kwargs={"subsample": 0.1}, **file)
    assert len(set(part.actions.tolist())) == 12 == len(part)  # all the rows that it has


def test_batches_and_normalised_observations(tmp_path: Path) -> None:
    envs = gym.make_vec(GRID, num_envs=4, budget=5, autoreset_mode=AutoresetMode.SAME_STEP)
    batch = VecNormalize(SB3VecEnv(vector.HistoryObservation(vector.ImprovementReward(envs), 2)), clip_obs=3.0)
    model = stable_baselines3.PPO("MlpPolicy", batch, n_steps=8, batch_size=8, n_epochs=1, seed=0, device="cpu")
    model.learn(32)
    file = arguments(str(save_policy(model, tmp_path / "batch")))
    (r,) = run(TrainedPolicy, GRID, [0], budget=5, env_kwargs=VALUES, **file)
    env = HistoryObservation(made(GRID), 2)
    observation, _ = env.reset(seed=seeds_of(GRID, 0)[0])
    for expected in r.actions:
        action, _ = model.predict(batch.normalize_obs(observation), deterministic=True)
        assert action.tolist() == expected.tolist()
        observation, *_ = env.step(action)
    stacked = VecFrameStack(DummyVecEnv([lambda: made(GRID)]), 2)
    other = stable_baselines3.PPO("MlpPolicy", stacked, device="cpu")
    with pytest.raises(ValueError, match="wrappers must be .* or VecNormalize, got VecFrameStack"):
        save_policy(other, tmp_path / "no")


def test_in_study_beside_others_alone_or_isolated(tmp_path: Path) -> None:
    save_policy(model_of("PPO", made(GRID)), tmp_path / "ppo.zip")
    digests = []
    for isolate in (False, True):
        data = {"environments": [{"id": GRID, "budget": 4}, ROWS], "seeds": 2, "isolate": isolate}
        planned = study.from_data({**data, "agents": ["random", f"policy:{tmp_path}/ppo.zip"]})
        folder = tmp_path / str(isolate)
        outcome = scheduler.conduct(planned, folder)
        assert outcome.skipped == [(ROWS, "policy:ppo.zip")]
        (block,) = store.Store(folder).once(GRID, "policy:ppo.zip")
        assert block.header["hyperparameters"]["file"] == "ppo.zip"
        assert block.header["hyperparameters"]["sha256"] == arguments(str(tmp_path / "ppo.zip"))["sha256"]
        digests.append(block.actions.tolist())
        assert scheduler.conduct(planned, folder).made == 0
    assert digests[0] == digests[1]


def test_draws_repeat_by_seed(tmp_path: Path) -> None:
    file = arguments(str(save_policy(model_of("RecurrentPPO", made(GRID)), tmp_path / "drawn")))
    given = {"budget": 5, "env_kwargs": VALUES, "deterministic": False, **file}
    several = run(TrainedPolicy, GRID, [3, 4], **given)
    (alone,) = run(TrainedPolicy, GRID, [4], **given)
    assert alone.actions.tolist() == several[1].actions.tolist() != several[0].actions.tolist()


def test_what_policy_rejects(tmp_path: Path) -> None:
    path = save_policy(model_of("PPO", made(GRID)), tmp_path / "ppo.zip")
    file, problem = arguments(str(path)), problem_of(made(GRID))
    with pytest.raises(ValueError, match="ppo.zip must be run where actions are those that it was trained on"):
        TrainedPolicy(problem_of(made(ROWS)), 0, **file)
    with pytest.raises(
        ValueError, match="on languages that it was not trained on, or with seen=True, got chi, jpn, rus"
    ):
        TrainedPolicy(problem, 0, **file, seen=False)
    with pytest.raises(ValueError, match="file must have sha256 0000, got"):
        TrainedPolicy(problem, 0, **{**file, "sha256": "0000"})
    agent = TrainedPolicy(problem, 0, **file)
    with pytest.raises(ValueError, match="must be shown observations before it is asked"):
        agent.ask()
    with pytest.raises(ValueError, match=r"observations must have the shape that was trained on, \(\d+,\), got \(3,\)"):
        agent.observe(np.zeros(3, np.float32), None)
    masked = sb3_contrib.MaskablePPO("MlpPolicy", made(ROWS), device="cpu")
    unmasked = TrainedPolicy(problem_of(made(ROWS)), 0, **arguments(str(save_policy(masked, tmp_path / "masked"))))
    unmasked.observe(np.zeros(made(ROWS).observation_space.shape, np.float32), None)
    with pytest.raises(ValueError, match="a policy of masked actions must be run where actions have masks"):
        unmasked.ask()
