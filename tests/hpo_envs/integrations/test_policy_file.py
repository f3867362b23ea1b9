"""Files of trained policies: what is recorded and refused, and that reading one runs nothing (extra `rl`)."""

import json
import pickle
import zipfile
from pathlib import Path
from typing import Any

import gymnasium as gym
import pytest

from hpo_envs.benchmarks import problem_of
from hpo_envs.benchmarks.study import policies
from hpo_envs.wrappers import HyperparameterAction

pytest.importorskip("stable_baselines3", reason="extra rl is not installed")

from stable_baselines3 import A2C, PPO

from hpo_envs.integrations import policy_file
from hpo_envs.integrations.sb3 import save_policy

SMALL: dict[str, Any] = {"device": "cpu", "policy_kwargs": {"net_arch": [4]}, "seed": 0}


def made(env_id: str, **kwargs: Any) -> Any:
    return gym.make(env_id, **kwargs)


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_policy(A2C("MlpPolicy", made("NMTHPO-v0"), **SMALL), tmp_path_factory.mktemp("policy") / "a2c")


def changed(file: Path, to: Path, name: str, content: bytes) -> str:
    """A copy of the file with another entry of a name."""
    with zipfile.ZipFile(file) as old, zipfile.ZipFile(to, "w") as new:
        for entry in old.namelist():
            new.writestr(entry, content if entry == name else old.read(entry))
    return str(to)


class Bomb:
    """Leaves a file behind when it is loaded."""

    def __init__(self, trace: Path) -> None:
        self.trace = trace

    def __reduce__(self) -> Any:
        return Path.touch, (self.trace,)


def test_stable_baselines3_reads_file_as_its_own(file: Path) -> None:
    assert file.name == "a2c.zip"
    policy, record, sha256 = policy_file.load(str(file))
    theirs = A2C.load(file, device="cpu")
    for name, weights in theirs.policy.state_dict().items():
        assert (policy.state_dict()[name] == weights).all(), name
    assert record["wrappers"] == []
    assert record["trained_on"] == sorted(problem_of(made("NMTHPO-v0")).excluded) == ["chi", "jpn", "rus"]
    assert policies.arguments(str(file)) == {"file": str(file.resolve()), "sha256": sha256}


def test_no_pickle_is_loaded(file: Path, tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    bomb = pickle.dumps(Bomb(trace), protocol=2)
    policy_file.load(changed(file, tmp_path / "data.zip", "data", bomb))  # which stable-baselines3 would load
    with pytest.raises(ValueError, match="policy.pth must have the weights of the policy and nothing else"):
        policy_file.load(changed(file, tmp_path / "weights.zip", "policy.pth", bomb))
    assert not trace.exists()
    pickle.loads(bomb)
    assert trace.exists()


@pytest.mark.parametrize(
    ("entry", "value"),
    [
        ("policy", "os:system"),
        ("policy", "torch.nn:Linear"),
        ("policy", "torch.nothing:Linear"),
        ("arguments", {"activation_fn": {"$class": "subprocess:Popen"}}),
        ("arguments", {"activation_fn": {"$class": "torch:load"}}),
    ],
)
def test_classes_are_those_of_policies(file: Path, tmp_path: Path, entry: str, value: Any) -> None:
    record = {**policies.read(str(file))[0], entry: value}
    other = changed(file, tmp_path / "other.zip", policies.RECORD, json.dumps(record).encode())
    with pytest.raises(ValueError, match="a policy must be made of (BasePolicy|Module)s of torch, stable_baselines3"):
        policy_file.load(other)


def test_what_cannot_be_recorded(tmp_path: Path) -> None:
    class Doubled(gym.ObservationWrapper):  # type: ignore[type-arg]
        def observation(self, observation: Any) -> Any:
            return 2 * observation

    for env in (HyperparameterAction(made("NMTHPO-zhen-v0")), Doubled(made("NMTHPO-v0"))):
        with pytest.raises(ValueError, match=f"wrappers must be HistoryObservation.*, got .*{type(env).__name__}"):
            save_policy(PPO("MlpPolicy", env, **SMALL), tmp_path / "no")
    with pytest.raises(ValueError, match="env must be made with shuffle=True where nothing but numbers"):
        save_policy(PPO("MlpPolicy", made("FIESTA-tdsa8-v0"), **SMALL), tmp_path / "no")
    with pytest.raises(ValueError, match="env must be an environment of this suite"):
        save_policy(PPO("MlpPolicy", "CartPole-v1", device="cpu"), tmp_path / "no")
    assert not list(tmp_path.iterdir())


def test_wrappers_of_other_packages_are_not_made() -> None:
    with pytest.raises(ValueError, match="wrappers must be HistoryObservation.*, got os.system"):
        policy_file.around(made("NMTHPO-v0"), [["os", "system", {}]])
    env = policy_file.around(made("NMTHPO-v0"), [["hpo_envs", "HistoryObservation", {"length": 2}]])
    assert env.observation_space.shape is not None
    assert env.observation_space.shape[0] == 2
