"""x"""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
import warnings
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from hpo_envs.core.recorder import MODES
from hpo_envs.engines.lookup.scalar import LookupEnv
from hpo_envs.registry import SPECS
from tests.helpers import ROOT
from tests.hpo_envs.core.helpers import played

FAMILIES = list({(s.entry_point, isinstance(s.kwargs.get("objective"), tuple)): s.id for s in SPECS.values()}.values())
"""An id of each class, with one objective and with two."""


def made(spec_id: str, mode: str | None, **kwargs: Any) -> Any:
    return gym.make(spec_id, table="surrogate", render_mode=mode, disable_env_checker=True, **kwargs)


@pytest.mark.parametrize("spec_id", FAMILIES)
def test_text_and_picture_of_every_family(spec_id: str) -> None:
    pytest.importorskip("matplotlib", reason="extra plots is not installed")
    more = {"budget": 3} if spec_id == "NASBenchNLP-cell-v0" else {}
    env = made(spec_id, "rgb_array", **more)
    env.reset(seed=1)
    empty = env.render()
    picture = played(env).render()
    assert picture.shape == (480, 640, 3)
    assert picture.dtype == np.uint8
    assert (picture != empty).mean() > 0.005
    # Looking changes nothing: the same picture again, and another episode is another picture.
    assert np.array_equal(env.render(), picture)
    env.reset(seed=1)
    assert np.array_equal(env.render(), empty)
    said = played(made(spec_id, "ansi", **more)).render()
    assert said.startswith(f"{spec_id}: ")
    assert "best" in said
    assert max(map(len, said.splitlines())) < 600


@pytest.mark.parametrize("mode", MODES)
def test_a_watched_environment_says_the_same(mode: str, capsys: pytest.CaptureFixture[str]) -> None:
    plain, seen = made("NMTHPO-zhen-v0", None), made("NMTHPO-zhen-v0", mode)
    for a, b in zip(plain.reset(seed=4), seen.reset(seed=4), strict=True):
        assert np.array_equal(a, b) if isinstance(a, np.ndarray) else a.keys() == b.keys()
    for row in (3, 9, 3):
        a, b = plain.step(row), seen.step(row)
        assert a[1:4] == b[1:4]
        assert np.array_equal(a[0], b[0])


def test_text_is_what_happened() -> None:
    env = made("NMTHPO-zhen-v0", "ansi")
    env.reset(seed=0)
    rewards = [env.step(row)[1] for row in (5, 80, 30)]
    said = env.render()
    at = int(np.argmax(rewards))
    assert "3 evaluations, 3 of 20 evaluations" in said
    assert f"{rewards[at]:.6g} at evaluation {at + 1}: bpe=" in said
    line = next(s for s in said.splitlines() if s.strip().startswith("bleu"))
    blocks = line.split()[1]
    assert blocks[at] == "█"
    assert blocks[int(np.argmin(rewards))] == "▁"


def test_losses_are_shown_as_losses() -> None:
    env = made("NMTHPO-zhen-v0", "ansi", objective="perplexity")
    env.reset(seed=0)
    reward = env.step(5)[1]
    assert reward < 0
    assert f"{-reward:.6g} at evaluation 1" in env.render()


def test_arms_are_ranked_by_their_means() -> None:
    env = made("FIESTA-gaussian-v0", "ansi")
    env.reset(seed=0)
    scores = {arm: [env.step(arm)[1] for _ in range(3)] for arm in (0, 2, 4)}
    lines = [s for s in env.render().splitlines() if "pulls" in s]
    order = sorted(scores, key=lambda a: -np.mean(scores[a]))
    assert [float(s.split("pulls")[1].split("±")[0]) for s in lines] == pytest.approx(
        [np.mean(scores[a]) for a in order], rel=1e-3
    )


def test_batches_of_pulls_and_workers() -> None:
    env = made("FIESTA-tdsa8-v0", "ansi", batch_size=3)
    env.reset(seed=0)
    env.step(np.array([1, 1, 4]))
    assert "2 pulls" in env.render()
    env = made("NMTLC-ft-zhen-v0", "ansi", workers=3)
    env.reset(seed=0)
    env.step(np.array([1, 2]))
    assert "under way  [1, 2]" in env.render()
    assert "0 evaluations" in env.render()


def test_without_rendering_nothing_is_in_the_way() -> None:
    env = gym.make("NMTHPO-zhen-v0", table="surrogate").unwrapped
    assert env.render_mode is None
    assert "step" not in vars(env)
    assert env.step.__func__ is LookupEnv.step
    # Nor is matplotlib imported, not even for text.
    code = (
        "import sys, gymnasium as gym, hpo_envs\n"
        "env = gym.make('NMTHPO-zhen-v0', table='surrogate', render_mode='ansi')\n"
        "env.reset(seed=0); env.step(0); env.render()\n"
        "assert 'matplotlib' not in sys.modules and 'scipy.stats' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=ROOT)


@pytest.mark.parametrize("spec_id", ["NMTHPO-zhen-v0", "FIESTA-tdsa8-v0", "NMTLC-ft-zhen-v0"])
def test_gymnasium_checks_rendering(spec_id: str, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("matplotlib", reason="extra plots is not installed")
    from gymnasium.utils.env_checker import check_env

    env = gym.make(spec_id, table="surrogate", disable_env_checker=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(env.unwrapped)


def test_human_prints_where_there_is_no_window(capsys: pytest.CaptureFixture[str]) -> None:
    matplotlib = pytest.importorskip("matplotlib", reason="extra plots is not installed")
    matplotlib.use("agg")
    env = made("NMTHPO-zhen-v0", "human")
    env.reset(seed=0)
    env.step(1)
    said = capsys.readouterr().out
    assert "0 evaluations" in said
    assert "1 evaluations, 1 of 20" in said
    assert env.render() is None
    env.close()


def test_a_wrong_mode_is_named() -> None:
    from hpo_envs.families.nmthpo.page import NMTHPOEnv

    with pytest.raises(ValueError, match="render_mode must be None or one of human, rgb_array, ansi, got 'video'"):
        NMTHPOEnv("zhen", table="surrogate", render_mode="video")


@pytest.mark.parametrize("mode", [None, "ansi"])
def test_copies_and_pickles_go_on_by_themselves(mode: str | None) -> None:
    env = made("NMTHPO-zhen-v0", mode).unwrapped
    env.reset(seed=0)
    env.step(1)
    for other in (copy.deepcopy(env), pickle.loads(pickle.dumps(env))):
        other.step(2)
        if mode:
            assert "2 evaluations" in other.render()
    if mode:
        assert "1 evaluations" in env.render()
