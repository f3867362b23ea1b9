"""What an episode has done so far, and the same as text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

MODES = ("human", "rgb_array", "ansi")
FPS = 4

BLOCKS = "▁▂▃▄▅▆▇█"
WIDTH = 60
"""Evaluations in the line of blocks."""


class Record:
    """What an environment did in this episode.

    Attributes:
        env: The environment.
        entries: One dict an evaluation of this episode: `action`, `rewards` (m,), `values` (m,) in native
            units, `spent` (cost so far), `info`, `moves` that led to it.
        moves: Actions since the last evaluation (nodes of a cell, submissions to workers).
        spent: Cost so far.
        pulls: Arm -> its scores, where actions are arms.
    """

    def __init__(self, env: Any) -> None:
        self.env = env
        self.entries: list[dict[str, Any]] = []
        self.moves: list[Any] = []
        self.pulls: dict[int, list[float]] = {}
        self.spent = 0.0

    def note(self, action: Any, reward: Any, info: Mapping[str, Any]) -> None:
        """Adds a step."""
        action = info.get("action", action)
        if not info.get("finished", True):
            self.moves.append(np.array(action).tolist())
            return
        self.spent += float(info.get("spent", info["cost"]))
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


def name_of(env: Any, action: Any) -> str:
    """An action as a reader would name it: the key of its row, or its numbers."""
    flat = np.ravel(action)
    by_row = env.params.kind in ("rows", "fidelity", "arms")
    if by_row and len(flat) <= 2:
        index, rest = int(flat[0]), flat[1:]
        return f"{index} ({env.table.keys[env.rows[index]]})" + "".join(f" to checkpoint {int(r)}" for r in rest)
    return "[" + ", ".join(f"{v:.3g}" for v in flat.tolist()) + "]"


def text(record: Record) -> str:
    """The episode in a few lines: spent, a block for each evaluation, the best and the last."""
    env, entries = record.env, record.entries
    spec = getattr(env, "spec", None)
    title = spec.id if spec is not None else type(env).__name__
    lines = [f"{title}: {len(entries)} evaluations, {record.spent:g} of {env.budget:g} {env.params.budget_unit}"]
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
    rows = env.rows if record.pulls else []
    for arm, scores in sorted(record.pulls.items(), key=lambda item: -float(np.mean(item[1]))):
        deviation = f" ± {np.std(scores, ddof=1):.4g}" if len(scores) > 1 else ""
        lines.append(f"{env.table.keys[rows[arm]][:24]:>24}  {len(scores):5} pulls  {np.mean(scores):.4g}{deviation}")
    if record.moves:
        lines.append(f"{'in flight':>16}  {'; '.join(str(m) for m in record.moves)}")
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
