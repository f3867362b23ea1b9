"""Render modes: recording of episodes (`Watch`), their text, and how many episodes and evaluations are shown.

The constructor of an environment with `render_mode=` attaches a `Watch`, which wraps `reset` and `step` and records
their results; without `render_mode` there is none, so rendering costs nothing.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

import numpy as np

from hpo_envs.core import figures
from hpo_envs.core.infos import of_one

SHOWN = 4
"""Largest number of episodes of a batch that are shown."""


class Watch:
    """Recorder and renderer of the episodes of a scalar or vectorized environment.

    Args:
        env: The environment; of a vectorized one the first episodes are shown, at most `SHOWN`.
        mode: One of the environment's `render_modes`.

    Raises:
        ValueError: The environment has no such mode.
    """

    def __init__(self, env: Any, mode: str) -> None:
        if mode not in (modes := env.metadata["render_modes"]):
            raise ValueError(f"render_mode must be None or one of {', '.join(modes)}, got {mode!r}")
        self.env, self.mode, self._batched = env, mode, hasattr(env, "num_envs")
        self._step, self._reset = type(env).step, type(env).reset
        episodes = [_Episode(env, i) for i in range(min(SHOWN, env.num_envs))] if self._batched else [env]
        self.records = [EpisodeRecord(episode) for episode in episodes]

    def reset(self, **kwargs: Any) -> Any:
        """Reset the environment and begin a record of each started episode. In mode `human`, print the first one."""
        out = self._reset(self.env, **kwargs)
        self._note(None, None, out[1])
        return out

    def step(self, action: Any) -> Any:
        """Step the environment and record the result; in mode `human`, print the first episode."""
        out = self._step(self.env, action)
        self._note(action, out[1], out[4])
        return out

    def render(self) -> Any:
        """Return the episode so far: text (`ansi`), a (480, 640, 3) uint8 picture (`rgb_array`), or None (`human`).

        For a vectorized environment, return a tuple of pictures, one per shown episode, which Gymnasium's `RecordVideo`
        and stable-baselines3's `VecVideoRecorder` arrange in a grid.

        Raises:
            ModuleNotFoundError: matplotlib, which pictures need, is not installed.
        """
        if self.mode == "ansi":
            return text(self.records[0])
        if self.mode == "human":
            return None
        pictures = tuple(figures.pixels(record) for record in self.records)
        return pictures if self._batched else pictures[0]

    def _note(self, action: Any, reward: Any, info: Any) -> None:
        for i, record in enumerate(self.records):
            for part in (info.get("final_info", {}), info) if self._batched else (info,):
                names = [k for k in part if k[0] != "_" and k != "action_mask"]
                reported = of_one(part, i, names) if self._batched else part
                if "cost" in reported:
                    record.note(*((action[i], reward[i]) if self._batched else (action, reward)), reported)
                if "table" in reported:
                    self.records[i] = EpisodeRecord(record.env)
        if self.mode == "human":
            sys.stdout.write("\033[2J\033[H" * sys.stdout.isatty() + text(self.records[0]) + "\n")
            sys.stdout.flush()


class _Episode:
    """One episode of a batch, with the attributes of a scalar environment."""

    def __init__(self, envs: Any, i: int) -> None:
        self._envs, self._i = envs, i

    def __getattr__(self, name: str) -> Any:
        return getattr(self._envs, name)

    @property
    def action_space(self) -> Any:
        return self._envs.single_action_space

    @property
    def table(self) -> Any:
        return self._envs.tables[int(self._envs.episodes[1][self._i])]

    @property
    def rows(self) -> Any:
        return self._envs.rows[self._i]


BLOCKS = "▁▂▃▄▅▆▇█"
WIDTH = 60
"""Largest number of evaluations in a line of blocks."""


class EpisodeRecord:
    """Record of an episode.

    Attributes:
        env: The environment.
        entries: One dict per evaluation of this episode: `action`, `rewards` (m,), `values` (m,) in native units,
            `spent` (budget used so far), `info`, `moves` (actions since the previous evaluation).
        moves: Actions since the last evaluation (nodes of a cell, submissions to workers).
        spent: Budget used so far.
        pulls: Arm -> rewards of its pulls; empty unless actions are arms.
    """

    def __init__(self, env: Any) -> None:
        self.env = env
        self.entries: list[dict[str, Any]] = []
        self.moves: list[Any] = []
        self.pulls: dict[int, list[float]] = {}
        self.spent = 0.0

    def note(self, action: Any, reward: Any, info: Mapping[str, Any]) -> None:
        """Record a step: as an evaluation, or as a move if it completed none."""
        action = info.get("action", action)
        if not info.get("finished", True):
            self.moves.append(np.array(action).tolist())
            return
        self.spent += float(info.get("spent", info["cost"]))
        rewards = np.atleast_1d(np.asarray(reward, dtype=np.float64)).copy()
        # Native values where the metrics have them: a loss is shown as a loss, not as its negative.
        metrics = info["metrics"]
        values = [float(metrics.get(name, r)) for name, r in zip(self.env.objectives, rewards, strict=True)]
        entry = {"action": np.array(action), "rewards": rewards, "values": np.array(values), "spent": self.spent}
        self.entries.append(entry | {"info": dict(info), "moves": self.moves})
        self.moves = []
        if self.env.params.kind == "arms":
            scores = np.atleast_1d(info.get("scores", reward)).tolist()
            for arm, score in zip(np.atleast_1d(action).tolist(), scores, strict=True):
                self.pulls.setdefault(int(arm), []).append(float(score))


def name_of(env: Any, action: Any) -> str:
    """Return the name of an action: index and key of its rows and any checkpoint, else its numbers in brackets."""
    flat = np.ravel(action)
    if env.params.kind in ("rows", "fidelity", "arms") and len(flat) <= 2:
        rows, level = np.split(flat.astype(int), [len(flat) if env.params.kind == "arms" else 1])
        named = (f"{i} ({env.table.keys[env.rows[i]]})" for i in rows)
        return ", ".join(named) + "".join(f" to checkpoint {i}" for i in level)
    return "[" + ", ".join(f"{v:.3g}" for v in flat.tolist()) + "]"


def text(record: EpisodeRecord) -> str:
    """Format the episode so far: budget used, recent rewards as blocks, best and last evaluation, arms, moves."""
    env, entries = record.env, record.entries
    lines = [f"{env._name()}: {len(entries)} evaluations, {record.spent:g} of {env.budget:g} {env.params.budget_unit}"]
    if entries:
        for j, objective in enumerate(env.objectives):
            rewards = np.array([e["rewards"][j] for e in entries])
            at = int(rewards.argmax())
            lines.append(f"{objective:>16}  {_blocks(rewards[-WIDTH:])}")
            lines.append(
                f"{'best':>16}  {entries[at]['values'][j]:.6g} at evaluation {at + 1}: {_shown(env, entries[at])}"
            )
        last = entries[-1]
        lines.append(
            f"{'last':>16}  {_shown(env, last)}, status {last['info']['status']}, cost {last['info']['cost']:g}"
        )
    rows = env.rows if record.pulls else []
    for arm, scores in sorted(record.pulls.items(), key=lambda item: -float(np.mean(item[1]))):
        deviation = f" ± {np.std(scores, ddof=1):.4g}" if len(scores) > 1 else ""
        lines.append(f"{env.table.keys[rows[arm]][:24]:>24}  {len(scores):5} pulls  {np.mean(scores):.4g}{deviation}")
    if record.moves:
        lines.append(f"{'in flight':>16}  {'; '.join(str(m) for m in record.moves)}")
    return "\n".join(lines)


def _shown(env: Any, entry: dict[str, Any]) -> str:
    config = entry["info"].get("config")
    if config:
        return ", ".join(f"{k}={v:.4g}" if isinstance(v, float) else f"{k}={v}" for k, v in config.items())
    if entry["info"].get("key"):
        return str(entry["info"]["key"])[:80]
    return name_of(env, entry["action"])


def _blocks(values: Any) -> str:
    low, high = float(values.min()), float(values.max())
    share = (values - low) / (high - low) if high > low else np.zeros(len(values))
    return "".join(BLOCKS[round(float(s) * (len(BLOCKS) - 1))] for s in share)
