"""Rendering: what an episode has done so far, as text, as a picture or in a window.

The constructor of an environment with `render_mode=` attaches a `Watch`, which answers in its place and notes what it
says; without `render_mode` there is none, so rendering costs nothing where nobody looks.
"""

from __future__ import annotations

import sys
from typing import Any

from hpo_envs.core import figures
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
