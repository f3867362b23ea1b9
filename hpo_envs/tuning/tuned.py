"""What a search has found."""

from __future__ import annotations

import html
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from hpo_envs.benchmarks import Comparison
from hpo_envs.benchmarks.plots.style import COLOURS, axes_of
from hpo_envs.tables.files import atomic
from hpo_envs.tuning.record import Evaluation, Record, by


@dataclass(frozen=True, repr=False)
class Tuned:
    """The evaluations of a search.

    Attributes:
        header: What was searched.
        evaluations: In the order in which they began.
        folder: Where they are; None if they were kept in a temporary folder.
    """

    header: dict[str, Any]
    evaluations: tuple[Evaluation, ...]
    folder: Path | None = None

    @classmethod
    def load(cls, folder: Path | str) -> Tuned:
        """The search in a folder, finished or not.

        Raises:
            FileNotFoundError: There is none.
        """
        record = Record(folder)
        return cls(record.header, tuple(record.evaluations), Path(folder))

    def __len__(self) -> int:
        return len(self.evaluations)

    def __iter__(self) -> Iterator[Evaluation]:
        return iter(self.evaluations)

    @property
    def best(self) -> Evaluation:
        """The best evaluation: its `config`, `metrics` and what else is known; of several objectives the largest sum.

        Raises:
            ValueError: None succeeded; the message has the last error.
        """
        good = [e for e in self.evaluations if e.rewards is not None]
        if not good:
            errors = [e.error.strip().rpartition("\n")[2] for e in self.evaluations if e.error]
            raise ValueError(f"an evaluation must have succeeded, got {len(self)} that did not: {errors[-1:]}")
        return max(good, key=lambda e: e.score)

    def to_frame(self) -> Any:
        """A pandas DataFrame, a row an evaluation in the order in which they ended.

        Columns: `number`, `status`, the hyperparameters, the metrics, `cost`, `seconds`, `spent`, `incumbent` (the best
        first objective so far, in native units), `error`, `started`, `worker`.
        """
        import pandas as pd

        sign, incumbent, rows = self._sign, -np.inf, []
        for e in sorted((e for e in self.evaluations if e.ended >= 0), key=lambda e: e.ended):
            if e.rewards is not None:
                incumbent = max(incumbent, e.rewards[0])
            shown = np.nan if np.isinf(incumbent) else sign * incumbent
            rows.append(
                {"number": e.number, "status": e.status, **e.config, **e.metrics, "cost": e.cost}
                | {"seconds": e.seconds, "spent": e.spent, "incumbent": shown, "error": e.error}
                | {"started": pd.Timestamp(e.started, unit="s"), "worker": e.worker}
            )
        return pd.DataFrame(rows)

    def plot(self, axes: Any = None) -> Any:
        """Draws all evaluations and the incumbent over what was spent; returns matplotlib's axes.

        Raises:
            ModuleNotFoundError: matplotlib is not installed.
        """
        axes = axes_of(axes)
        frame = self.to_frame()
        spent, name = frame["spent"].cumsum(), self.header["objectives"][0]
        if name in frame:
            axes.plot(spent, frame[name], ".", color=COLOURS[0], label="evaluations")
        axes.step(spent, frame["incumbent"], where="post", color=COLOURS[1], label="incumbent")
        axes.set(xlabel=self.header["budget_unit"], ylabel=name)
        axes.legend()
        return axes

    def report(self, path: Path | str | None = None) -> Path:
        """Writes the search as one page, as `hpo-envs report` does; returns its path.

        Args:
            path: Of the page; default: `report.html` in the folder of the search.

        Raises:
            ValueError: The search is in no folder, or nothing in it succeeded.
        """
        run = None if self.folder is None else Record(self.folder).run()
        if run is None or self.folder is None:
            raise ValueError("a search must be in a folder and have a success to be reported (out=)")
        page = atomic.inside(self.folder, path or self.folder / "report.html")
        return Comparison.of([run]).report(page, command=f"hpo-envs report {self.folder}")

    @property
    def _sign(self) -> float:
        return 1.0 if self.header["goals"][0] == "max" else -1.0

    def __repr__(self) -> str:
        h = self.header
        good = [e for e in self.evaluations if e.rewards is not None]
        text = f"{len(self)} evaluations of {h['function']} by {by(h)}, {len(self) - len(good)} without a score"
        if good:
            best = self.best
            scores = ", ".join(f"{name} {best.metrics[name]:.6g}" for name in h["objectives"])
            text += f"; best: {scores} at {best.config}"
        return f"<Tuned: {text}>"

    def _repr_html_(self) -> str:
        return f"<p>{html.escape(repr(self)[1:-1])}</p>{self.to_frame().drop(columns='error').tail(10).to_html()}"
