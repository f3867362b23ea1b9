"""Runs as Minari datasets; skipped without Minari."""

import dataclasses
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pandas as pd
import pytest

import hpo_envs
from hpo_envs.benchmarks import run
from hpo_envs.benchmarks.runs.episodes import seeds_of
from hpo_envs.tables import user
from tests.helpers import rejects


@pytest.fixture
def minari(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path))
    return pytest.importorskip("minari", reason="extra minari is not installed")


@pytest.mark.parametrize(
    ("agent", "env_id", "kwargs", "data_format"),
    [
        ("random", "NMTHPO-v0", {}, "hdf5"),
        ("random", "CushLEPOR-ted-ende-v0", {}, "arrow"),
        ("ttts", "FIESTA-tdsa8-v0", {"budget": 40}, "arrow"),
        ("asha", "NMTLC-ft-zhen-v0", {"budget": 60}, "arrow"),
    ],
)
@pytest.mark.filterwarnings("ignore:`(author|author_email|code_permalink|eval_env)` is set to None:UserWarning")
def test_runs_are_episodes_of_minari(minari: Any, agent: str, env_id: str, kwargs: Any, data_format: str) -> None:
    from hpo_envs.integrations.minari import to_minari

    if data_format == "hdf5":
        pytest.importorskip("h5py", reason="extra minari is not installed")
    runs = run(agent, env_id, range(3), env_kwargs={"budget": 5, **kwargs})
    to_minari(runs, "hpo/some-v0", author="somebody", data_format=data_format)
    found = minari.load_dataset("hpo/some-v0")
    assert (found.storage.metadata["data_format"], found.total_episodes) == (data_format, 3)
    assert found.total_steps == sum(len(r) for r in runs)
    live = gym.make(env_id, **({"budget": 5} | kwargs))
    for episode, r in zip(found.iterate_episodes(), runs, strict=True):
        assert np.array_equal(episode.actions, r.actions)
        assert np.allclose(episode.rewards, r.rewards, rtol=1e-9, atol=0)
        assert np.array_equal(episode.infos["cost"][:, 0], [0.0, *r.costs])
        assert episode.terminations.tolist() == [False] * (len(r) - 1) + [True]
        assert not episode.truncations.any()
        # What was stored is what a live episode shows.
        observation, _ = live.reset(seed=seeds_of(env_id, r.seed)[0])
        for stored, action in zip(episode.observations, episode.actions, strict=False):
            assert np.array_equal(stored, observation)
            observation, *_ = live.step(action)
        assert np.array_equal(episode.observations[-1], observation)
    again = found.recover_environment()
    assert (again.spec.id, again.action_space) == (env_id, live.action_space)
    assert again.unwrapped.budget == live.unwrapped.budget
    first = seeds_of(env_id, 0)[0]
    assert found.recover_environment(eval_env=True).spec.to_json() == again.spec.to_json()
    assert found.storage.metadata["requirements"] == [f"hpo_envs=={hpo_envs.__version__}"]
    low, high = (found.storage.metadata[f"ref_{name}_score"] for name in ("min", "max"))
    every = run("random", env_id, range(100), env_kwargs={"budget": 5, **kwargs})
    assert low == pytest.approx(np.mean([r.rewards.sum() for r in every]))
    assert high == pytest.approx(np.mean([len(r) * r.header["scale"]["best"][0] for r in every]))
    assert minari.get_normalized_score(found, np.array([low, high])).tolist() == [0.0, 1.0]
    assert again.reset(seed=first)[1]["sha256"] == runs[0].header["sha256"] == live.reset(seed=first)[1]["sha256"]


@pytest.mark.filterwarnings("ignore:`(author|author_email|code_permalink|eval_env)` is set to None:UserWarning")
def test_early_stops_truncate_and_tables_of_users(minari: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from hpo_envs.integrations.minari import to_minari

    runs = run("random", "CharHPO-v0", [4], budget=4, target=lambda action, reward: True)
    to_minari(runs, "hpo/char/random-v0")
    (episode,) = minari.load_dataset("hpo/char/random-v0").iterate_episodes()
    assert np.array_equal(episode.actions, runs[0].actions)
    assert (episode.terminations.tolist(), episode.truncations.tolist()) == ([False], [True])
    sheet = pd.DataFrame({"a": [1, 2, 3], "y": [0.5, 0.7, 0.1]})
    own = {"table": user.from_frame(sheet, "y", "max")}
    runs = run("random", "TableHPO-v0", [0], budget=2, env_kwargs=own)
    to_minari(runs, "hpo/own/random-v0", env_kwargs=own)
    (episode,) = minari.load_dataset("hpo/own/random-v0").iterate_episodes()
    assert np.array_equal(episode.rewards, runs[0].rewards)
    monkeypatch.setenv("HPO_ENVS_TABLES", str(tmp_path))
    user.save(own["table"])
    assert to_minari(runs, "hpo/saved/random-v0").total_steps == 2


def test_non_dataset(minari: Any) -> None:
    from hpo_envs.integrations.minari import to_minari

    runs = run("random", "NMTHPO-zhen-v0", [0, 1], budget=3)
    with pytest.raises(ValueError, match="seed 0 must give reward"):
        to_minari([dataclasses.replace(runs[0], rewards=runs[0].rewards + 1.0)], "hpo/wrong-v0")
    rejects("runs must not be empty", to_minari, [], "hpo/none-v0")
    rejects("Malformed dataset ID: no version", to_minari, [], "no version")
    with pytest.raises(ValueError, match="the table must be 0000 as in the runs"):
        to_minari([dataclasses.replace(runs[0], header={**runs[0].header, "sha256": "0000"})], "hpo/wrong-v0")
    other = run("random", "NMTHPO-ruen-v0", [0], budget=3)
    with pytest.raises(ValueError, match="runs must share their env, got 'NMTHPO-zhen-v0' and 'NMTHPO-ruen-v0'"):
        to_minari([*runs, *other], "hpo/wrong-v0")
    several = run("random", "NMTHPO-zhen-mo-v0", [0], budget=2)
    rejects("runs must have one objective, got bleu, decoding_seconds", to_minari, several, "hpo/wrong-v0")
    cells = run("random", "NASBenchNLP-cell-v0", [0], budget=2)
    rejects("runs must have one entry per step, got NASBenchNLP-cell-v0", to_minari, cells, "hpo/wrong-v0")
    batches = run("bts", "FIESTA-tdsa8-v0", [0], budget=64, env_kwargs={"batch_size": 8})
    rejects("runs must have one entry per step, got seed 0", to_minari, batches, "hpo/wrong-v0")
    assert "hpo/wrong-v0" not in minari.list_local_datasets()
