"""Unmodified reinforcement-learning libraries on our ids; `.ci/nightly clients` has all; skipped elsewhere.

`docs/guides/interoperation.md` lists the tested versions. Trainings are short: the tests check that data of our ids can
be processed, and that weights change and stay finite.
"""

from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode

from hpo_envs.benchmarks import tasks
from hpo_envs.wrappers import ContinuousAction, FlattenAction, for_training

pytest.importorskip("torchrl", reason="run by .ci/nightly clients")

import torch
from torch import nn


def made(env_id: str, **kwargs: Any) -> Any:
    return gym.make(env_id, **{"budget": 8, **kwargs})


ROWS, GRID, BOX, CURVES = "NMTHPO-zhen-v0", "NMTHPO-v0", "CharHPO-v0", "NMTLC-ft-zhen-v0"


@pytest.mark.parametrize(
    ("package", "name", "env_id", "wrapper"),
    [
        ("stable_baselines3", "PPO", ROWS, None), ("stable_baselines3", "PPO", GRID, None),
        ("stable_baselines3", "PPO", BOX, None), ("stable_baselines3", "DQN", ROWS, None),
        ("stable_baselines3", "DQN", CURVES, FlattenAction),
        ("stable_baselines3", "DQN", "NASBenchNLP-wikitext2-v0", FlattenAction),
        ("stable_baselines3", "SAC", BOX, None), ("stable_baselines3", "TD3", ROWS, ContinuousAction),
        ("sb3_contrib", "QRDQN", GRID, FlattenAction), ("sb3_contrib", "MaskablePPO", ROWS, None),
        ("sb3_contrib", "MaskablePPO", CURVES, None), ("sb3_contrib", "RecurrentPPO", GRID, None),
        ("sb3_contrib", "TQC", BOX, None),
    ],
)  # fmt: skip
def test_stable_baselines3_trains(package: str, name: str, env_id: str, wrapper: Any) -> None:
    library = pytest.importorskip(package)
    env = made(env_id) if "NASBench" not in env_id else made(env_id, levels=3, budget=1e5)
    env = env if wrapper is None else wrapper(env)
    on_policy = name in ("PPO", "MaskablePPO", "RecurrentPPO")
    steps = {"n_steps": 16, "batch_size": 16, "n_epochs": 1} if on_policy else {"learning_starts": 8, "batch_size": 8}
    if name in ("DQN", "QRDQN"):
        steps["buffer_size"] = 100
    net = {} if name == "RecurrentPPO" else {"policy_kwargs": {"net_arch": [8]}}
    policy = "MlpLstmPolicy" if name == "RecurrentPPO" else "MlpPolicy"
    model = getattr(library, name)(policy, env, seed=0, device="cpu", **steps, **net)
    model.learn(32)
    action, _ = model.predict(env.reset(seed=0)[0])
    assert np.asarray(action).reshape(env.action_space.shape) in env.action_space


@pytest.mark.parametrize("env_id", [ROWS, GRID, BOX, CURVES, "FIESTA-tdsa8-v0"])
def test_torchrl_finds_specs_kept_and_reads_infos(env_id: str) -> None:
    envs = pytest.importorskip("torchrl.envs")
    env = envs.GymWrapper(made(env_id))
    envs.utils.check_env_specs(env)
    reader = envs.default_info_dict_reader(["cost", "status_code"])
    env.set_info_dict_reader(reader)
    out = env.rollout(5)
    assert out["next", "cost"].shape[0] == len(out)


def test_torchrl_masks_actions() -> None:
    envs = pytest.importorskip("torchrl.envs")
    data = pytest.importorskip("torchrl.data")
    base = envs.GymWrapper(made(ROWS), categorical_action_encoding=True)
    spec = {"action_mask": data.Binary(118, shape=(118,), dtype=torch.int8)}
    base.set_info_dict_reader(envs.default_info_dict_reader(["action_mask"], spec=spec))
    cast = envs.transforms.DTypeCastTransform(torch.int8, torch.bool, in_keys=["action_mask"])
    env = envs.TransformedEnv(base, envs.Compose(cast, envs.ActionMask()))
    rows = env.rollout(8)["action"].flatten().tolist()
    assert len(set(rows)) == len(rows) == 8


def test_torchrl_rolls_out_sampled_tasks_through_their_ends() -> None:
    envs = pytest.importorskip("torchrl.envs")
    drawn = tasks.make_vec(4, ["CharHPO"], without=["ron", "kat"], objective="accuracy")
    env = envs.GymWrapper(for_training(drawn), categorical_action_encoding=True)
    out = env.rollout(45, break_when_any_done=False)
    assert out["next", "done"].nonzero()[:, 1].unique().tolist() == [19, 39]


def batch(env_id: str, **kwargs: Any) -> Any:
    return gym.make_vec(env_id, num_envs=4, budget=8, **kwargs)


class Learns:
    """Fails unless the weights of a module change, and stay finite."""

    def __init__(self, module: nn.Module) -> None:
        self.module = module
        self.before = [p.detach().clone() for p in module.parameters()]

    def __enter__(self) -> None: ...

    def __exit__(self, kind: Any, *error: object) -> None:
        if kind is None:
            after = list(self.module.parameters())
            assert all(torch.isfinite(p).all() for p in after)
            assert any(not torch.equal(a, b) for a, b in zip(self.before, after, strict=True))


@pytest.fixture(autouse=True)
def seeded() -> None:
    torch.manual_seed(0)


class OnlyCost(gym.vector.VectorWrapper):
    """Keeps only the cost in `info`: at the end of an episode TorchRL takes texts and dicts for tensors."""

    @property
    def autoreset_mode(self) -> AutoresetMode:
        return self.metadata["autoreset_mode"]  # which TorchRL looks for

    def reset(self, **kwargs: Any) -> Any:
        return self.env.reset(**kwargs)[0], {}

    def step(self, actions: Any) -> Any:
        *out, info = self.env.step(actions)
        costs = info.get("final_info", info)["cost"]
        return (*out, {"cost": costs} | ({"final_obs": info["final_obs"]} if "final_obs" in info else {}))


@pytest.mark.parametrize("mode", list(AutoresetMode))
def test_torchrl_takes_batches_as_far_as_it_can(mode: AutoresetMode) -> None:
    from torchrl.envs import GymWrapper
    from torchrl.envs.utils import check_env_specs

    if mode is AutoresetMode.NEXT_STEP:
        with pytest.raises((RuntimeError, AttributeError)):  # refused, or first read as if it were SAME_STEP
            GymWrapper(batch(ROWS, autoreset_mode=mode))
        return
    env = GymWrapper(OnlyCost(batch(ROWS, autoreset_mode=mode)))
    check_env_specs(env)
    out = env.rollout(18, break_when_any_done=False)
    assert out.batch_size == (4, 18)
    assert out["next", "done"].sum() == 8  # two episodes of each


@pytest.mark.parametrize("env_id", [ROWS, BOX])
def test_torchrl_trains_by_ppo(env_id: str) -> None:
    from tensordict.nn import TensorDictModule, TensorDictSequential
    from torchrl.collectors import Collector
    from torchrl.envs import GymWrapper
    from torchrl.modules import NormalParamExtractor, OneHotCategorical, ProbabilisticActor, TanhNormal, ValueOperator
    from torchrl.objectives import ClipPPOLoss
    from torchrl.objectives.value import GAE

    env = GymWrapper(made(env_id))
    seen, size = env.observation_spec["observation"].shape[-1], env.action_spec.shape[-1]
    if env_id == BOX:
        net = TensorDictModule(
            nn.Sequential(nn.Linear(seen, 2 * size), NormalParamExtractor()), ["observation"], ["loc", "scale"]
        )
        keys, law = ["loc", "scale"], TanhNormal
    else:
        net = TensorDictModule(nn.Linear(seen, size), ["observation"], ["logits"])
        keys, law = ["logits"], OneHotCategorical
    actor = ProbabilisticActor(
        TensorDictSequential(net), in_keys=keys, spec=env.action_spec, distribution_class=law, return_log_prob=True
    )
    critic = ValueOperator(nn.Linear(seen, 1), in_keys=["observation"])
    loss, advantage = ClipPPOLoss(actor, critic), GAE(gamma=0.99, lmbda=0.95, value_network=critic)
    optimiser = torch.optim.Adam(loss.parameters(), 1e-3)
    with Learns(actor):
        for data in Collector(env, actor, frames_per_batch=32, total_frames=64):
            advantage(data)
            losses = loss(data)
            total = losses["loss_objective"] + losses["loss_critic"] + losses["loss_entropy"]
            optimiser.zero_grad()
            total.backward()
            optimiser.step()


@pytest.mark.parametrize("form", [made, batch])
def test_skrl_trains_by_ppo(form: Any) -> None:
    """Its Gaussian policies leave the box, which clips actions."""
    pytest.importorskip("skrl")
    from skrl.agents.torch.ppo import PPO, PPO_CFG
    from skrl.envs.wrappers.torch import wrap_env
    from skrl.memories.torch import RandomMemory
    from skrl.models.torch import DeterministicMixin, GaussianMixin, Model
    from skrl.trainers.torch import SequentialTrainer

    env = wrap_env(form(BOX), verbose=False)

    class Policy(GaussianMixin, Model):
        def __init__(self) -> None:
            Model.__init__(self, observation_space=env.observation_space, action_space=env.action_space, device="cpu")
            GaussianMixin.__init__(self)
            self.net = nn.Linear(self.num_observations, self.num_actions)
            self.log_std = nn.Parameter(torch.ones(self.num_actions))

        def compute(self, inputs: Any, role: str = "") -> Any:
            return self.net(inputs["observations"]), {"log_std": self.log_std}

    class Value(DeterministicMixin, Model):
        def __init__(self) -> None:
            Model.__init__(self, observation_space=env.observation_space, action_space=env.action_space, device="cpu")
            DeterministicMixin.__init__(self)
            self.net = nn.Linear(self.num_observations, 1)

        def compute(self, inputs: Any, role: str = "") -> Any:
            return self.net(inputs["observations"]), {}

    policy = Policy()
    agent = PPO(
        models={"policy": policy, "value": Value()},
        memory=RandomMemory(memory_size=16, num_envs=env.num_envs, device="cpu"),
        cfg=PPO_CFG(rollouts=16, learning_epochs=2),
        observation_space=env.observation_space,
        action_space=env.action_space,
        device="cpu",
    )
    # It draws at each step unless told not to, and asks batches by a method that only two classes of Gymnasium have.
    settings = {
        "timesteps": 48,
        "headless": form is batch,
        "disable_progressbar": True,
        "close_environment_at_exit": False,
    }
    with Learns(policy):
        SequentialTrainer(env=env, agents=agent, cfg=settings).train()


@pytest.mark.parametrize("env_id", [ROWS, CURVES])
def test_tianshou_trains_by_dqn(env_id: str) -> None:
    pytest.importorskip("tianshou")
    from tianshou.algorithm import DQN
    from tianshou.algorithm.modelfree.dqn import DiscreteQLearningPolicy
    from tianshou.algorithm.optim import AdamOptimizerFactory
    from tianshou.data import Collector, VectorReplayBuffer
    from tianshou.env import DummyVectorEnv
    from tianshou.trainer import OffPolicyTrainerParams
    from tianshou.utils.net.common import Net

    def one() -> Any:
        return made(env_id) if env_id == ROWS else FlattenAction(made(env_id))

    envs, env = DummyVectorEnv([one] * 2), one()
    net = Net(state_shape=env.observation_space.shape, action_shape=env.action_space.n, hidden_sizes=[8])
    policy = DiscreteQLearningPolicy(
        model=net, action_space=env.action_space, observation_space=env.observation_space, eps_training=0.5
    )
    algorithm = DQN(policy=policy, optim=AdamOptimizerFactory(lr=1e-3), target_update_freq=4)
    collector = Collector(algorithm, envs, VectorReplayBuffer(64, 2), exploration_noise=True)
    tests = Collector(algorithm, DummyVectorEnv([one]))
    with Learns(net):
        algorithm.run_training(
            OffPolicyTrainerParams(
                training_collector=collector,
                test_collector=tests,
                max_epochs=1,
                epoch_num_steps=32,
                collection_step_num_env_steps=8,
                test_step_num_episodes=1,
                batch_size=8,
                show_progress=False,
                verbose=False,
            )
        )


@pytest.mark.parametrize(("env_id", "name"), [(ROWS, "DiscreteCQLConfig"), (BOX, "CQLConfig")])
@pytest.mark.parametrize("data_format", ["arrow", "hdf5"])
def test_d3rlpy_trains_on_runs(env_id: str, name: str, data_format: str, tmp_path: Any, monkeypatch: Any) -> None:
    d3rlpy, minari = pytest.importorskip("d3rlpy"), pytest.importorskip("minari")
    from hpo_envs.benchmarks import run
    from hpo_envs.integrations.minari import to_minari

    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path))
    runs = run("random", env_id, range(6), budget=8, env_kwargs={"shuffle": False} if env_id == ROWS else {})
    to_minari(runs, "hpo/random-v0", data_format=data_format, env_kwargs={"max_episode_steps": 99})
    dataset, env = d3rlpy.datasets.get_minari("hpo/random-v0")
    assert env.unwrapped.spec.id == env_id == minari.load_dataset("hpo/random-v0").env_spec.id
    assert sum(e.transition_count for e in dataset.episodes) == 48
    algorithm = getattr(d3rlpy.algos, name)(batch_size=8).create(device="cpu:0")
    algorithm.build_with_dataset(dataset)
    with Learns(algorithm.impl.modules.q_funcs):
        algorithm.fit(
            dataset,
            n_steps=4,
            n_steps_per_epoch=4,
            show_progress=False,
            logger_adapter=d3rlpy.logging.NoopAdapterFactory(),
        )
    assert algorithm.predict(env.reset(seed=0)[0][None])[0] in env.action_space
