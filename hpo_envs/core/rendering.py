"""Rendering: what an episode has done so far, as text, as a picture or in a window.

The constructor of an environment with `render_mode=` attaches a `Watch`, which answers in its place and notes what it
says; without `render_mode` there is none, so rendering costs nothing where nobody looks.
"""

from __future__ import annotations

import sys
from typing import Any

from hpo_envs.core import figures
from hpo_envs.core.infos import of_one
from hpo_envs.core.recorder import MODES, Record, text


class Watch:
    """Stands before an environment, records each episode and shows it.

    Args:
        env: The environment.
        mode: One of `MODES`.
    """

    def __init__(self, env: Any, mode: str) -> None:
        if mode not in MODES:
            raise ValueError(f"render_mode must be None or one of {', '.join(MODES)}, got {mode!r}")
        self.env, self.mode, self.record = env, mode, Record(env)
        self._step, self._reset, self._close = type(env).step, type(env).reset, type(env).close
        self._window: Any = None

    def reset(self, **kwargs: Any) -> Any:
        """Resets the environment and forgets the last episode."""
        self.record = Record(self.env)
        out = self._reset(self.env, **kwargs)
        if self.mode == "human":
            self._show()
        return out

    def step(self, action: Any) -> Any:
        """Steps the environment and notes what came of it."""
        out = self._step(self.env, action)
        self.record.note(action, out[1], out[4])
        if self.mode == "human":
            self._show()
        return out

    def render(self) -> Any:
        """The episode so far: text (`ansi`), a (480, 640, 3) uint8 picture (`rgb_array`), or None (`human`).

        Raises:
            ModuleNotFoundError: A picture is asked for, and matplotlib is not installed.
        """
        if self.mode == "ansi":
            return text(self.record)
        return figures.pixels(self.record) if self.mode == "rgb_array" else None

    def close(self) -> None:
        """Closes the window, if there is one, and the environment."""
        if self._window is not None:
            figures.shut(self._window)
            self._window = None
        self._close(self.env)

    def _show(self) -> None:
        """A window where there is a display, else the text on the terminal."""
        try:
            self._window = figures.window(self.record, self._window)
        except (ModuleNotFoundError, figures.NoDisplay):
            sys.stdout.write("\033[2J\033[H" * sys.stdout.isatty() + text(self.record) + "\n")
            sys.stdout.flush()


SHOWN = 4
"""Episodes of a batch that are shown."""


class VectorWatch:
    """Stands before a batched environment, records its first episodes and draws them.

    Args:
        envs: The batched environment.
        mode: `rgb_array`.
    """

    def __init__(self, envs: Any, mode: str) -> None:
        if mode != "rgb_array":
            raise ValueError(f"render_mode of a batch must be None or rgb_array, got {mode!r}")
        self.envs = envs
        self._step, self._reset = type(envs).step, type(envs).reset
        self._records = [Record(_Episode(envs, i)) for i in range(min(SHOWN, envs.num_envs))]

    def reset(self, **kwargs: Any) -> Any:
        """Resets the environment and forgets the last episodes."""
        out = self._reset(self.envs, **kwargs)
        self._begin(out[1])
        return out

    def step(self, actions: Any) -> Any:
        """Steps the environment and notes what came of it."""
        out = self._step(self.envs, actions)
        info = out[4]
        for i, record in enumerate(self._records):
            for part in (info, info.get("final_info", {})):
                if said := of_one(part, i, [k for k in part if k[0] != "_" and k != "action_mask"]):
                    if "cost" in said:
                        record.note(actions[i], out[1][i], said)
        self._begin(info)
        return out

    def render(self) -> tuple[Any, ...]:
        """A (480, 640, 3) uint8 picture of each of the first episodes so far, at most `SHOWN`.

        Gymnasium's `RecordVideo` and stable-baselines3's `VecVideoRecorder` make a grid of them.

        Raises:
            ModuleNotFoundError: matplotlib is not installed.
        """
        return tuple(figures.pixels(record) for record in self._records)

    def _begin(self, info: Any) -> None:
        """Forgets the episodes of those that say at which table they start."""
        for i in range(len(self._records)):
            if "table" in info and info["_table"][i]:
                self._records[i] = Record(_Episode(self.envs, i))


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
