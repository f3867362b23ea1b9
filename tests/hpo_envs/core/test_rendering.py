"""Rendering: every mode of every engine, no effect on the episode, and the text of a step."""

import copy
import importlib
import pickle
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from hpo_envs.benchmarks.analysis.scales import Scales
from hpo_envs.core import figures
from hpo_envs.core.engines.lookup.scalar import LookupEnv
from hpo_envs.core.env import MODES
from hpo_envs.core.family import Spec
from hpo_envs.families.registry import SPECS
from tests.helpers import IDS, ROOT, started


def made(spec_id: str, mode: str | None, **kwargs: Any) -> Any:
    return gym.make(spec_id, render_mode=mode, disable_env_checker=True, **kwargs)


def played(env: Any, steps: int = 6) -> Any:
    env.action_space.seed(2)
    env.reset(seed=1)
    mutate = getattr(env.unwrapped, "mutate", None)
    actions = [env.action_space.sample() for _ in range(steps)]
    if mutate is not None:
        actions = [*mutate(None, np.random.default_rng(2)), *mutate(None, np.random.default_rng(4))[:-2]]
    for action in actions:
        if env.step(action)[2]:
            break
    return env


def painted(env: Any) -> tuple[Any, Any, Any]:
    """The picture of an environment: its figure and both axes."""
    figure = pytest.importorskip("matplotlib.figure", reason="extra plots is not installed").Figure()
    figures.paint(env.render.__self__.records[0], figure)
    figure.draw_without_rendering()
    return figure, *figure.axes


def _engine(spec: Spec) -> str:
    module, _, name = spec.entry_point.partition(":")
    classes = getattr(importlib.import_module(module), name).__mro__
    return next(c.__name__ for c in classes if c.__module__.startswith("hpo_envs.core.engines"))


ENGINES = {(_engine(s), isinstance(s.kwargs.get("objective"), tuple)): s.id for s in map(SPECS.__getitem__, IDS)}
"""An id of each engine, with one and with two objectives; families draw nothing themselves."""


@pytest.mark.parametrize("spec_id", ENGINES.values())
def test_text_and_picture_of_every_engine(spec_id: str) -> None:
    pytest.importorskip("matplotlib", reason="extra plots is not installed")
    more = {"budget": 3} if spec_id == "NASBenchNLP-cell-v0" else {}
    env = started(made(spec_id, "rgb_array", **more), seed=1)
    empty = env.render()
    picture = played(env).render()
    assert (picture.shape, picture.dtype) == ((480, 640, 3), np.uint8)
    assert (picture != empty).mean() > 0.005
    # Looking changes nothing: the same picture again, and another episode is another picture.
    assert np.array_equal(env.render(), picture)
    env.reset(seed=1)
    assert np.array_equal(env.render(), empty)
    said = played(made(spec_id, "ansi", **more)).render()
    assert said.startswith(f"{spec_id}: ")
    assert "best" in said
    assert max(map(len, said.splitlines())) < 600


@pytest.mark.parametrize("spec_id", ["CellMini-v0", "NMTHPO-swen-v0", "NMTLC-swen-v0", "NMTHPO-v0", "FIESTA-tdsa8-v0"])
def test_axis_reaches_budget_and_best_known_value_is_line(spec_id: str) -> None:
    env = played(made(spec_id, "rgb_array"), 4).unwrapped
    figure, left, right = painted(env)
    assert left.get_xlim() == (0.0, env.budget)
    (known,) = (line.get_ydata()[0] for line in left.lines if line.get_label() in ("best known", "best true mean"))
    best = Scales(spec_id, env.params, {}).of(env.params.tables.index(env.table)).best[0]
    if spec_id == "CellMini-v0":  # of single runs, which no evaluation beats, not of their means
        assert known == np.nanmin(env.table.values[..., env.table.metric("validation_loss")]) < -best
    else:
        assert known == pytest.approx(env.params.signs[0] * best)
    shown = r"After [\d,.]+ of [\d,.]+ \w+, the (high|low)est [\w ]+ [-\d.]+;\nthe \1est known is [-\d.]+"
    if spec_id == "FIESTA-tdsa8-v0":
        shown = (
            r"After 4 of [\d,]+ evaluations, \w+ has the highest mean f1:\n[\d.]+ in \d evaluations?; the true mean.*"
        )
    assert re.fullmatch(shown, figure.get_suptitle())
    assert (right.get_title() == "best cell so far") == (spec_id == "CellMini-v0")


def test_configuration_shows_values_of_any_type() -> None:
    space = {"a": [None, "a"], "b": [(1, 2), (3, 4)], "c": [True, False], "x": (0.0, 1.0)}
    env = played(made("FunctionHPO-v0", "rgb_array", function=lambda config: 1.0, space=space, candidates=4), 1)
    _, _, right = painted(env.unwrapped)
    assert re.match(r"a: (None|a)\nb: \((1, 2|3, 4)\)\nc: (True|False)\nx: 0.", right.texts[0].get_text())


def test_poor_and_failed_evaluations_do_not_squeeze_axis() -> None:
    env = made("CharHPO-inflection-hun-lstm-v0", "rgb_array").unwrapped
    accuracy = env.table.final("accuracy")[env.rows]
    env.reset(seed=0)
    for row in [*np.argsort(-accuracy)[:15], int(accuracy.argmin())]:
        env.step(int(row))
    _, left, _ = painted(env)
    assert left.get_ylim()[0] > accuracy.min() + 10.0
    assert {"best known", "best so far", "off the axis"} == {text.get_text() for text in left.texts}


def test_earlier_checkpoint_is_drawn_at_its_own_updates() -> None:
    env = started(made("NMTLC-zhen-v0", "rgb_array").unwrapped)
    rewards = [env.step(action)[1] for action in ((120, 19), (120, 0))]
    _, left, right = painted(env)
    x, y = right.lines[0].get_data()
    assert (x.tolist(), y.tolist()) == ([env.levels[0], env.levels[19]], pytest.approx([-rewards[1], -rewards[0]]))
    # All numbers of an axis in one form, and none where the labels of lines are.
    assert not [t for t in left.get_xticklabels() if "e+" in t.get_text()]
    assert not any(t.get_visible() and t.get_text() for t in right.get_yticklabels())


def test_without_mode_nothing_is_drawn_and_nothing_breaks() -> None:
    for env in (made("NMTHPO-zhen-v0", None), gym.make_vec("NMTHPO-zhen-v0", num_envs=2)):
        env.reset(seed=0)
        with pytest.warns(UserWarning, match="render_mode must be given when NMTHPO-zhen-v0 is made, got None"):
            assert env.unwrapped.render() is None


@pytest.mark.parametrize("mode", MODES)
def test_a_watched_environment_returns_the_same(mode: str, capsys: pytest.CaptureFixture[str]) -> None:
    plain, seen = made("NMTHPO-zhen-v0", None), made("NMTHPO-zhen-v0", mode)
    for a, b in zip(plain.reset(seed=4), seen.reset(seed=4), strict=True):
        assert np.array_equal(a, b) if isinstance(a, np.ndarray) else a.keys() == b.keys()
    for row in (3, 9, 3):
        a, b = plain.step(row), seen.step(row)
        assert a[1:4] == b[1:4]
        assert np.array_equal(a[0], b[0])


def test_without_rendering_the_environment_is_not_wrapped() -> None:
    env = gym.make("NMTHPO-zhen-v0").unwrapped
    assert env.render_mode is None
    assert "step" not in vars(env)
    assert env.step.__func__ is LookupEnv.step
    # Nor is matplotlib imported, not even for text.
    code = (
        "import sys, gymnasium as gym, hpo_envs\n"
        "env = gym.make('NMTHPO-zhen-v0', render_mode='ansi')\n"
        "env.reset(seed=0); env.step(0); env.render()\n"
        "assert 'matplotlib' not in sys.modules and 'scipy.stats' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=ROOT)


def test_human_prints_each_step(capsys: pytest.CaptureFixture[str]) -> None:
    env = started(made("NMTHPO-zhen-v0", "human"))
    env.step(1)
    said = capsys.readouterr().out
    assert "0 evaluations" in said
    assert "1 evaluations, 1 of 20" in said
    assert env.render() is None
    env.close()


def test_wrong_mode_is_named() -> None:
    from hpo_envs.families.nmthpo.page import NMTHPOEnv

    with pytest.raises(ValueError, match="render_mode must be None or one of human, rgb_array, ansi, got 'video'"):
        NMTHPOEnv("zhen", render_mode="video")


@pytest.mark.parametrize("mode", [None, "ansi"])
def test_copies_and_pickles_go_on_by_themselves(mode: str | None) -> None:
    env = started(made("NMTHPO-zhen-v0", mode).unwrapped)
    env.step(1)
    for other in (copy.deepcopy(env), pickle.loads(pickle.dumps(env))):
        other.step(2)
        if mode:
            assert "2 evaluations" in other.render()
    if mode:
        assert "1 evaluations" in env.render()


@pytest.mark.parametrize("mode", ["NextStep", "SameStep"])
def test_batch_is_drawn_as_its_first_episodes(mode: str) -> None:
    pytest.importorskip("matplotlib")
    make = {"budget": 3, "render_mode": "rgb_array"}
    envs = gym.make_vec("NMTHPO-zhen-v0", num_envs=5, autoreset_mode=mode, **make)
    env = gym.make("NMTHPO-zhen-v0", **make).unwrapped
    envs.reset(seed=[0] * 5), env.reset(seed=0)
    for row in (1, 2):
        envs.step(np.full(5, row)), env.step(row)
    frames = envs.render()
    assert len(frames) == 4
    assert np.array_equal(frames[0], env.render())
    for row in (3, 4):  # the first ends the episodes
        envs.step(np.full(5, row))
    env.reset()
    if mode == "SameStep":
        env.step(4)
    assert np.array_equal(envs.render()[3], env.render())
    with pytest.raises(ValueError, match="render_mode must be None or one of rgb_array, got 'ansi'"):
        gym.make_vec("NMTHPO-zhen-v0", num_envs=2, render_mode="ansi")


def test_pictures_without_matplotlib_name_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    env = played(made("NMTHPO-zhen-v0", "rgb_array"), 1)
    with pytest.raises(ModuleNotFoundError, match=r"pip install .hpo_envs\[plots\]"):
        env.render()


def test_record_video(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="extra plots is not installed")
    pytest.importorskip("moviepy", reason="moviepy is not installed")
    from gymnasium.wrappers import RecordVideo

    env = RecordVideo(made("NMTHPO-zhen-v0", "rgb_array", budget=3), str(tmp_path), disable_logger=True)
    played(env, 3)
    env.close()
    (video,) = tmp_path.glob("*.mp4")
    assert video.stat().st_size > 1000


def test_text_describes_what_happened() -> None:
    env = started(made("NMTHPO-zhen-v0", "ansi"))
    rewards = [env.step(row)[1] for row in (5, 80, 30)]
    said = env.render()
    at = int(np.argmax(rewards))
    assert "3 evaluations, 3 of 20 evaluations" in said
    assert f"{rewards[at]:.6g} at evaluation {at + 1}: bpe=" in said
    line = next(s for s in said.splitlines() if s.strip().startswith("bleu"))
    blocks = line.split()[1]
    assert (blocks[at], blocks[int(np.argmin(rewards))]) == ("█", "▁")


def test_losses_are_shown_as_losses() -> None:
    env = started(made("NMTHPO-zhen-v0", "ansi", objective="perplexity"))
    reward = env.step(5)[1]
    assert reward < 0
    assert f"{-reward:.6g} at evaluation 1" in env.render()


def test_arms_are_ranked_by_their_means() -> None:
    env = started(made("FIESTA-gaussian-v0", "ansi"))
    scores = {arm: [env.step(arm)[1] for _ in range(3)] for arm in (0, 2, 4)}
    lines = [s for s in env.render().splitlines() if "pulls" in s]
    order = sorted(scores, key=lambda a: -np.mean(scores[a]))
    assert [float(s.split("pulls")[1].split("±")[0]) for s in lines] == pytest.approx(
        [np.mean(scores[a]) for a in order], rel=1e-3
    )


def test_axes_of_two_objectives_say_which_direction_is_better() -> None:
    env = played(made("NMTHPO-swen-mo-v0", "rgb_array"), 8).unwrapped
    figure, left, right = painted(env)
    assert right.get_xlabel() == "bleu (higher is better)"
    assert right.get_ylabel() == "decoding seconds (lower is better)"
    shown = r"After 8 of 200 evaluations, \d trade-offs:\nbleu [\d.]+ at [\d.]+ to [\d.]+ at [\d.]+ decoding seconds"
    assert re.fullmatch(shown, figure.get_suptitle())
    names = max(text.get_window_extent().x1 for text in left.texts)
    assert names < right.yaxis.label.get_window_extent().x0


def test_arm_of_single_evaluation_is_hollow_and_leader_has_its_count() -> None:
    env = started(made("FIESTA-gaussian-v0", "rgb_array").unwrapped)
    for arm in (0, 0, 1):
        env.step(arm)
    record = env.render.__self__.records[0]
    figure, left, right = painted(env)
    hollow = {round(mark[0].get_ydata()[0]): mark[0].get_markerfacecolor() == "white" for mark in right.containers}
    places = [label.get_text().endswith("(1)") for label in right.get_yticklabels()]
    assert [hollow[place] for place in range(2)] == places
    assert [bool(bars.has_xerr) for bars in right.containers] == [not h for h in hollow.values()]
    leader = max(record.pulls, key=lambda arm: np.mean(record.pulls[arm]))
    assert f" in {len(record.pulls[leader])} evaluation" in figure.get_suptitle()
    assert {"best true mean", "leader's mean"} == {text.get_text() for text in left.texts}
    known = set()
    env = made("FIESTA-gaussian-v0", None, subsample=0.5).unwrapped
    for seed in range(9):
        env.reset(seed=seed)
        known.add(figures._best_known(env))
        assert figures._best_known(env) == env.table.final("score")[env.rows].max()
    assert len(known) > 1


def test_batches_of_pulls_and_workers() -> None:
    env = started(made("FIESTA-tdsa8-v0", "ansi", batch_size=3))
    env.step(np.array([1, 1, 4]))
    assert "2 pulls" in env.render()
    env = started(made("FIESTA-tdsa8-v0", "ansi", batch_size=2).unwrapped)
    env.step(np.array([1, 4]))
    keys = env.table.keys
    assert f"last  1 ({keys[1]}), 4 ({keys[4]}), status ok" in env.render()
    env = started(made("NMTLC-ft-zhen-v0", "ansi", workers=3))
    env.step(np.array([1, 2]))
    assert "in flight  [1, 2]" in env.render()
    assert "0 evaluations" in env.render()
