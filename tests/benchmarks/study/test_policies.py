"""What a study knows of the file of a trained policy, without running anything of it (extra `rl`)."""

import zipfile
from pathlib import Path
from typing import Any

import gymnasium as gym
import pytest

from hpo_envs.benchmarks import problem_of
from hpo_envs.benchmarks.study import policies

pytest.importorskip("stable_baselines3", reason="extra rl is not installed")

from stable_baselines3 import A2C

from hpo_envs.integrations.sb3 import save_policy


def made(env_id: str) -> Any:
    return gym.make(env_id)


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    model = A2C("MlpPolicy", made("NMTHPO-v0"), device="cpu", policy_kwargs={"net_arch": [4]}, seed=0)
    return save_policy(model, tmp_path_factory.mktemp("policy") / "a2c")


def test_non_file_of_policy(file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    A2C.load(file, device="cpu").save(tmp_path / "plain.zip")
    (tmp_path / "text.zip").write_text("no archive")
    with zipfile.ZipFile(tmp_path / "future.zip", "w") as archive:
        archive.writestr(policies.RECORD, '{"format": 2}')
    for name in ("plain.zip", "text.zip", "none.zip", "future.zip"):
        with pytest.raises(ValueError, match="policy must be a file that hpo_envs.integrations.sb3.save_policy wrote"):
            policies.read(str(tmp_path / name))
    monkeypatch.setattr(policies, "MOST_BYTES", 10)
    with pytest.raises(ValueError, match=r"hpo_envs.json must have at most 10 bytes"):
        policies.read(str(file))


def test_where_policy_fits(file: Path) -> None:
    for env_id, seen, expected in (
        ("NMTHPO-v0", True, True),
        ("NMTHPO-v0", False, False),
        ("NMTHPO-zhen-v0", True, False),
        ("CharHPO-v0", True, False),
    ):
        problem = problem_of(made(env_id))
        assert policies.fits(problem, str(file), seen=seen) is expected, (env_id, seen)
