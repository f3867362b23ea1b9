"""`Runs`, the result of `run`: columns of its data frame, best evaluation, plot, short text."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, SupportsIndex, overload

import numpy as np

from hpo_envs.benchmarks import plots
from hpo_envs.benchmarks.analysis import regret
from hpo_envs.benchmarks.runs.record import Run, agent_of, environment_of
from hpo_envs.tables import frames, store
from hpo_envs.tables.table import Table, active

FIRST, LAST = ("env", "agent", "seed", "step"), ("reward", "cost", "incumbent", "regret")

OTHER = ("key", "action", "level")
"""Columns of a configuration that are no hyperparameters; one of such a name is `config.NAME`."""


class Runs(list[Run]):
    """List of the runs of one or several calls of `run`: `run(...) + run(...)`.

    Args:
        runs: The runs.
        tables: sha256 -> table, for tables that cannot be loaded by name; the attribute also has those loaded since.
    """

    def __init__(self, runs: Iterable[Run] = (), tables: Mapping[str, Table] | None = None) -> None:
        super().__init__(runs)
        self.tables = dict(tables or {})

    def to_frame(self, configurations: bool = True) -> Any:
        """Return a pandas DataFrame with one row per evaluation.

        Columns: `env` and `agent`, with arguments if two runs of one name and seed differ in them; `seed`; `step` (from
        1); the configuration: its hyperparameters with their natural values, `level` if there are several, and `key` or
        `action` without hyperparameters; `reward` (higher is better), `cost`, `incumbent` (the best reward so far) and
        `regret`, NaN if it is not known. With several objectives there are columns `reward_NAME` and no incumbent.
        `frame.attrs` has `configuration`, the names of the hyperparameters, and, if there are runs, `objectives` and
        `cost_unit` of the first.

        Args:
            configurations: Whether to include columns of the configuration.
        """
        import pandas as pd

        parts = [self._part(*named, configurations) for named in zip(self, self._names(), strict=True)]
        frame = pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=[*FIRST, *LAST])
        last = [c for c in frame if c in {*LAST, *self._rewards()}]
        middle = [c for c in frame if c not in (*FIRST, *last)]
        frame = frame[[*FIRST, *middle, *last]]
        frame.attrs = {"configuration": [c for c in middle if c not in OTHER]}
        if self:
            frame.attrs |= {name: self[0].header[name] for name in ("objectives", "cost_unit")}
        return frame

    def best(self) -> Any:
        """Return the row of `to_frame` with the highest reward, or sum of rewards: a pandas Series without NaN entries.

        Raises:
            ValueError: There are no runs, or runs on several environments or objectives, whose rewards cannot be
                compared.
        """
        ids = sorted({f"{run.header['env']} by {', '.join(run.header['objectives'])}" for run in self})
        if len(ids) != 1:
            raise ValueError(f"runs must be on one environment to have a best run, got {'; '.join(ids) or 'no runs'}")
        frame = self.to_frame()
        return frame.loc[frame[self._rewards()].sum(axis=1).idxmax()].dropna()

    def plot(self, axes: Any = None) -> Any:
        """Draw the incumbent over cost, or with two objectives the Pareto fronts; return matplotlib's axes.

        Raises:
            ValueError: There are no runs, or they are on several environments or have more than two objectives.
            ModuleNotFoundError: matplotlib is not installed.
        """
        frame = self.to_frame(configurations=False)
        return plots.incumbent(frame, axes) if "incumbent" in frame else plots.pareto(frame, axes)

    def _part(self, run: Run, name: Mapping[str, str], configurations: bool) -> Any:
        """Return the frame of one run; columns in any order."""
        import pandas as pd

        objectives = run.header["objectives"]
        columns: dict[str, Any] = {**name, "seed": run.seed}
        columns["step"] = np.arange(1, len(run) + 1)
        rewards = run.rewards.reshape(len(run), -1)
        columns |= dict(zip(_reward_columns(objectives), rewards.T, strict=True))
        if len(objectives) == 1:
            columns["incumbent"] = np.maximum.accumulate(rewards[:, 0])
        columns["cost"] = run.costs
        known = not regret.raw(run) and len(objectives) <= 2
        columns["regret"] = regret.after(run) if known else np.full(len(run), np.nan)
        if configurations:
            columns |= self._configurations(run, [*columns, *OTHER])
        return pd.DataFrame(columns)

    def _configurations(self, run: Run, taken: list[str]) -> dict[str, Any]:
        """Return the configuration columns by name: hyperparameters, else `key` or `action`; `level` if several."""
        if run.configs is not None:
            names = dict.fromkeys(name for config in run.configs for name in config)
            return {frames.column_of(n, taken): [config.get(n) for config in run.configs] for n in names}
        table = self._table(run.header) if "row" in run.evaluated else None
        if table is None:
            return {"action": run.actions.tolist()}
        rows, level = run.evaluated["row"], run.evaluated.get("level")
        extra = {} if level is None or len(table.levels) == 1 else {"level": table.levels[level]}
        configs = table.configs[rows]
        space = frames.config_columns(table.space, configs, active(table.space, configs), [*taken, *extra])
        return {**(space or {"key": [table.keys[i] for i in rows]}), **extra}

    def _table(self, header: Mapping[str, Any]) -> Table | None:
        """Return the table of a run, loaded by name if needed; None if it is not available or has changed."""
        if header["sha256"] not in self.tables:
            try:
                table = store.load(header["table"])
            except (ValueError, OSError):
                return None
            self.tables[table.provenance.sha256] = table
        return self.tables.get(header["sha256"])

    def __add__(self, other: Any) -> Runs:  # type: ignore[override]
        return Runs([*self, *other], self.tables | getattr(other, "tables", {}))

    @overload
    def __getitem__(self, index: SupportsIndex) -> Run: ...
    @overload
    def __getitem__(self, index: slice) -> Runs: ...
    def __getitem__(self, index: SupportsIndex | slice) -> Run | Runs:
        found = super().__getitem__(index)
        return Runs(found, self.tables) if isinstance(index, slice) else found  # type: ignore[arg-type, return-value]

    def __repr__(self) -> str:
        groups = [f"{len(g)} of {agent} on {env}" for (env, agent), g in self._groups().items()]
        return f"<Runs: {', '.join([*groups[:4], *(['...'] if len(groups) > 4 else [])]) or 'none'}>"

    def _repr_html_(self) -> str:
        import pandas as pd

        rows = []
        for (env, agent), runs in self._groups().items():
            evaluations = [len(r) for r in runs]
            row = {"env": env, "agent": agent, "runs": len(runs), "evaluations": sum(evaluations)}
            if len(runs[0].header["objectives"]) == 1:
                row["best reward, mean"] = float(np.mean([r.rewards.max() for r in runs]))
            rows.append(row)
        return str(pd.DataFrame(rows).to_html(index=False))

    def _rewards(self) -> list[str]:
        return sorted({name for run in self for name in _reward_columns(run.header["objectives"])})

    def _names(self) -> list[dict[str, str]]:
        """Return `env` and `agent` of each run: names, or labels with arguments if names and seeds are not unique."""
        plain = len({(run.header["env"], run.header["agent"], run.seed) for run in self}) == len(self)
        named = (lambda h: (h["env"], h["agent"])) if plain else (lambda h: (environment_of(h), agent_of(h)))
        return [dict(zip(FIRST, named(run.header), strict=False)) for run in self]

    def _groups(self) -> dict[tuple[str, str], list[Run]]:
        groups: dict[tuple[str, str], list[Run]] = {}
        for run, name in zip(self, self._names(), strict=True):
            groups.setdefault((name["env"], name["agent"]), []).append(run)
        return groups


def _reward_columns(objectives: list[str]) -> list[str]:
    return ["reward"] if len(objectives) == 1 else [f"reward_{name}" for name in objectives]
