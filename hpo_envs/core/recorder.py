"""Rendering: what an episode has done so far, as text, as a picture or in a window.

The constructor of an environment with `render_mode=` attaches a `Watch`, which answers in its place and notes what it
says; without `render_mode` there is none, so rendering costs nothing where nobody looks.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

import numpy as np

MODES = ("human", "rgb_array", "ansi")
FPS = 4

BLOCKS = "▁▂▃▄▅▆▇█"
WIDTH = 60
"""Evaluations in the line of blocks."""


class Watch:
    """Notes what an environment does, and shows it.

    Args:
        env: The environment.
        mode: One of `MODES`.

    Attributes:
        env: The environment.
        entries: One dict an evaluation of this episode: `action`, `rewards` (m,), `values` (m,) in native
            units, `spent` (cost so far), `info`, `moves` that led to it.
        moves: Actions since the last evaluation (nodes of a cell, submissions to workers).
        spent: Cost so far.
        pulls: Arm -> its scores, where actions are arms.
    """

    def __init__(self, env: Any, mode: str) -> None:
        if mode not in MODES:
            raise ValueError(f"render_mode must be None or one of {', '.join(MODES)}, got {mode!r}")
        self.env, self.mode = env, mode
        self._step, self._reset, self._close = type(env).step, type(env).reset, type(env).close
        self._window: Any = None
        self._forget()

    def _forget(self) -> None:
        self.entries: list[dict[str, Any]] = []
        self.moves: list[Any] = []
        self.pulls: dict[int, list[float]] = {}
        self.spent = 0.0

    def reset(self, **kwargs: Any) -> Any:
        """Resets the environment and forgets the last episode."""
        self._forget()
        out = self._reset(self.env, **kwargs)
        if self.mode == "human":
            self._show()
        return out

    def step(self, action: Any) -> Any:
        """Steps the environment and notes what came of it."""
        out = self._step(self.env, action)
        self._note(action, out[1], out[4])
        if self.mode == "human":
            self._show()
        return out

    def render(self) -> Any:
        """The episode so far: text (`ansi`), a (480, 640, 3) uint8 picture (`rgb_array`), or None (`human`).

        Raises:
            ModuleNotFoundError: A picture is asked for, and matplotlib is not installed.
        """
        if self.mode == "ansi":
            return text(self)
        if self.mode == "rgb_array":
            from hpo_envs.core import figures

            return figures.pixels(self)
        return None

    def close(self) -> None:
        """Closes the window, if there is one, and the environment."""
        if self._window is not None:
            from hpo_envs.core import figures

            figures.shut(self._window)
            self._window = None
        self._close(self.env)

    def _note(self, action: Any, reward: Any, info: Mapping[str, Any]) -> None:
        action = info.get("action", action)
        if not info.get("finished", True):
            self.moves.append(np.array(action).tolist())
            return
        self.spent += float(info["cost"])
        rewards = np.atleast_1d(np.asarray(reward, dtype=np.float64)).copy()
        # Native values where the metrics have them: a loss is shown as a loss, not as its negative.
        said = info["metrics"]
        values = [float(said.get(name, r)) for name, r in zip(self.env.objectives, rewards, strict=True)]
        entry = {"action": np.array(action), "rewards": rewards, "values": np.array(values), "spent": self.spent}
        self.entries.append(entry | {"info": dict(info), "moves": self.moves})
        self.moves = []
        if self.env.params.kind == "arms":
            scores = np.atleast_1d(info.get("scores", reward)).tolist()
            for arm, score in zip(np.atleast_1d(action).tolist(), scores, strict=True):
                self.pulls.setdefault(int(arm), []).append(float(score))

    def _show(self) -> None:
        """A window where there is a display, else the text on the terminal."""
        try:
            from hpo_envs.core import figures

            self._window = figures.window(self, self._window)
        except (ModuleNotFoundError, NoDisplay):
            sys.stdout.write("\033[2J\033[H" * sys.stdout.isatty() + text(self) + "\n")
            sys.stdout.flush()


class NoDisplay(RuntimeError):
    """There is no window to draw in."""


def name_of(env: Any, action: Any) -> str:
    """An action as a reader would name it: the key of its row, or its numbers."""
    flat = np.ravel(action)
    by_row = env.params.kind in ("rows", "fidelity", "arms")
    if by_row and len(flat) <= 2:
        index, rest = int(flat[0]), flat[1:]
        return f"{index} ({env.table.keys[env.rows[index]]})" + "".join(f" to checkpoint {int(r)}" for r in rest)
    return "[" + ", ".join(f"{v:.3g}" for v in flat.tolist()) + "]"


def text(watch: Watch) -> str:
    """The episode in a few lines: spent, a block for each evaluation, the best and the last."""
    env, entries = watch.env, watch.entries
    spec = getattr(env, "spec", None)
    title = spec.id if spec is not None else type(env).__name__
    lines = [f"{title}: {len(entries)} evaluations, {watch.spent:g} of {env.budget:g} {env.cost_unit}"]
    if entries:
        for j, objective in enumerate(env.objectives):
            rewards = np.array([e["rewards"][j] for e in entries])
            at = int(rewards.argmax())
            lines.append(f"{objective:>16}  {_blocks(rewards[-WIDTH:])}")
            lines.append(
                f"{'best':>16}  {entries[at]['values'][j]:.6g} at evaluation {at + 1}: {_said(env, entries[at])}"
            )
        last = entries[-1]
        lines.append(
            f"{'last':>16}  {_said(env, last)}, status {last['info']['status']}, cost {last['info']['cost']:g}"
        )
    rows = env.rows if watch.pulls else []
    for arm, scores in sorted(watch.pulls.items(), key=lambda item: -float(np.mean(item[1]))):
        deviation = f" ± {np.std(scores, ddof=1):.4g}" if len(scores) > 1 else ""
        lines.append(f"{env.table.keys[rows[arm]][:24]:>24}  {len(scores):5} pulls  {np.mean(scores):.4g}{deviation}")
    if watch.moves:
        lines.append(f"{'under way':>16}  {'; '.join(str(m) for m in watch.moves)}")
    return "\n".join(lines)


def _said(env: Any, entry: dict[str, Any]) -> str:
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
