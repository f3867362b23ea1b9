"""Result of a search: best and recommended configuration, Pareto front, data frame, plot, page; `load`."""

import functools
import html
import importlib
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from hpo_envs.agents.models.pareto import pareto_front
from hpo_envs.benchmarks.analysis.forest_importance import Dimension, varying
from hpo_envs.benchmarks.plots import COLOURS, axes_of
from hpo_envs.tables.files import atomic
from hpo_envs.tables.user.space import Points
from hpo_envs.tuning.constraints import described
from hpo_envs.tuning.recommendation import Recommendation, ranked
from hpo_envs.tuning.record import Evaluation, SearchRecord, by, plain, points_of


@dataclass(frozen=True, repr=False)
class Tuned:
    """Result of a search, finished or not: evaluations, best configuration, Pareto front, plot and page.

    Attributes:
        header: Settings of the search as plain data.
        evaluations: All evaluations, in the order in which they began.
        folder: Folder of the search; None if it was temporary.
    """

    header: dict[str, Any]
    evaluations: tuple[Evaluation, ...]
    folder: Path | None = None

    def __len__(self) -> int:
        return len(self.evaluations)

    def __iter__(self) -> Iterator[Evaluation]:
        return iter(self.evaluations)

    @property
    def best(self) -> Evaluation:
        """The best evaluation, of a complete training if there is one, with `config` and `metrics`.

        Raises:
            ValueError: There are several objectives (see `pareto`), no evaluation succeeded, or none is feasible.
        """
        good, names = self.successes, self.header["objectives"]
        if not good:
            errors = [e.error.strip().rpartition("\n")[2] for e in self.evaluations if e.error]
            last = f", the last with {errors[-1]}" if errors else ""
            raise ValueError(f"an evaluation must have succeeded, got {len(self)} that did not{last}")
        feasible = [e for e in good if e.feasible]
        if not feasible:
            least = min(good, key=lambda e: (e.unknown, sum(max(v, 0.0) for v in e.violations)))
            rule = described(self.header["constraints"])
            raise ValueError(f"evaluations must satisfy {rule}, got {len(good)} that do not; the nearest is {least!r}")
        if len(names) > 1:
            raise ValueError(
                f"best must be of a search with one objective, got {', '.join(names)}: "
                "use .pareto, the front, or .recommended, its compromise"
            )
        return max(feasible, key=lambda e: e.rank)

    @property
    def best_config(self) -> dict[str, Any]:
        """Natural values of the best evaluation's active hyperparameters, as passed to the function.

        Raises:
            ValueError: See `best`.
        """
        return dict(self.best.config)

    @property
    def best_score(self) -> float:
        """Objective of the best evaluation, in the function's own units.

        Raises:
            ValueError: See `best`.
        """
        return self.best.metrics[self.header["objectives"][0]]

    @functools.cached_property
    def recommended(self) -> Recommendation:
        """The configuration with the best predicted mean; with noisy scores, it is more reliable than `best`.

        If no configuration is complete and always feasible, that of `best`, with its score.

        With several objectives, the evaluation of the Pareto front that is nearest to the best value of each objective,
        on the scale of the front; its mean is NaN.

        Raises:
            ValueError: No evaluation succeeded, or none is feasible.
        """
        if len(self.header["objectives"]) > 1 and (front := self.pareto):
            y = np.array([e.rewards for e in front])
            apart = (y.max(axis=0) - y) / np.maximum(np.ptp(y, axis=0), np.finfo(float).tiny)
            return Recommendation(front[int(np.linalg.norm(apart, axis=1).argmin())], np.nan, np.nan, np.nan, 1)
        best, found = self.best, ranked(self.header, self.evaluations)
        # If no configuration is complete and always feasible, the best evaluation.
        return found[0] if found else Recommendation(best, self.best_score, np.nan, np.nan, 1)

    @property
    def pareto(self) -> list[Evaluation]:
        """Feasible evaluations that none dominates: the Pareto front; with one objective, those with `best`'s score."""
        good = [e for e in self.successes if e.feasible]
        if len(self.header["objectives"]) == 1:
            most = max((e.rank[0] for e in good), default=None)
            good = [e for e in good if e.rank[0] == most]
        front = pareto_front(np.array([e.rewards for e in good])) if good else ()
        return [e for e, stays in zip(good, front, strict=True) if stays]

    @property
    def successes(self) -> list[Evaluation]:
        """Evaluations with a score, in the order in which they began."""
        return [e for e in self.evaluations if e.rewards is not None]

    @functools.cached_property
    def stored(self) -> tuple[Points, npt.NDArray[np.float64]]:
        """The search space, and (successes, d) raw values of the successful configurations, 0 where inactive."""
        points = points_of(self.header)
        rows = [points.row(plain(e.config)) for e in self.successes]
        return points, np.array(rows).reshape(-1, len(points.space))

    def configurations(self, k: int = 0) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64], list[Dimension]]:
        """Return (n, d) configurations, (n,) rewards of objective `k` and the axes, for `forest_importance.importance`.

        Hyperparameters that never vary are left out; trainings stopped early have their forecasts, if any, as rewards.
        If the agent pauses trainings, the number of epochs is the last axis.
        """
        points, raw = self.stored
        x, axes = varying(points.space, raw)
        if self.header.get("actions") == "fidelity":
            epochs = np.array([e.action[1] + 1.0 for e in self.successes])
            x, axes = np.column_stack([x, epochs]), [*axes, Dimension("epochs", tuple(np.unique(epochs).tolist()))]
        sign = 1.0 if self.header["goals"][k] == "max" else -1.0
        scores = [e.rewards[k] if e.forecast is None else sign * e.forecast for e in self.successes if e.rewards]
        return x, np.array(scores), axes

    def to_frame(self) -> Any:
        """Return a pandas DataFrame with a row for each finished evaluation, in the order in which they ended.

        Columns: `number`, `status`, with constraints `feasible`, the hyperparameters, the metrics, `cost`, `seconds`,
        `spent`, `incumbent` (the best feasible first objective so far, of a complete training if any), `error`,
        `started`, `worker`. A hyperparameter with one of these names becomes `config.NAME`; a metric with one of them,
        or with the name of a hyperparameter, `metrics.NAME`.
        """
        import pandas as pd

        sign, rows = 1.0 if self.header["goals"][0] == "max" else -1.0, list[dict[str, Any]]()
        top = ((False, -sys.maxsize), -np.inf)
        limited, names = "constraints" in self.header, {name for e in self.evaluations for name in e.config}
        for e in sorted((e for e in self.evaluations if e.ended >= 0), key=lambda e: e.ended):
            if e.feasible and e.rewards is not None:
                top = max(top, (e.rank[0], e.rewards[0]))
            shown = np.nan if np.isinf(top[1]) else sign * top[1]
            row = {"number": e.number, "status": e.status, **({"feasible": e.feasible} if limited else {})}
            after = {"cost": e.cost, "seconds": e.seconds, "spent": e.spent, "incumbent": shown, "error": e.error}
            after |= {"started": pd.Timestamp(e.started, unit="s"), "worker": e.worker}
            taken = {*row, *after}
            row |= {f"config.{name}" if name in taken else name: value for name, value in e.config.items()}
            taken |= names
            row |= {f"metrics.{name}" if name in taken else name: value for name, value in e.metrics.items()}
            rows.append(row | after)
        columns = ["number", "status", "cost", "seconds", "spent", "incumbent", "error", "started", "worker"]
        return pd.DataFrame(rows, columns=None if rows else columns)

    def plot(self, axes: Any = None) -> Any:
        """Plot the first objective of evaluations and incumbent over the budget used; return matplotlib's axes.

        The plot is drawn on `axes`, by default on new ones.

        Raises:
            ModuleNotFoundError: matplotlib is not installed.
        """
        axes = axes_of(axes)
        frame = self.to_frame()
        spent, name = frame["spent"].cumsum(), self.header["objectives"][0]
        if name in frame:
            shown = frame[column] if (column := f"metrics.{name}") in frame else frame[name]
            axes.plot(spent, shown, ".", color=COLOURS[0], label="evaluations")
        axes.step(spent, frame["incumbent"], where="post", color=COLOURS[1], label="incumbent")
        axes.set(xlabel=self.header["budget_unit"], ylabel=name)
        axes.legend()
        importlib.import_module("hpo_envs.core.figures").plain(axes.figure)
        return axes

    def report(self, path: Path | str | None = None) -> Path:
        """Write the page of the search, as `hpo-envs report` does; return the path of the page.

        Args:
            path: Path of the page; default: `report.html` in the folder of the search.

        Raises:
            ValueError: The search was in a temporary folder, and no path is given.
        """
        if path is None and self.folder is None:
            raise ValueError("path must be given for a search that is in no folder (out=None), got None")
        from hpo_envs.tuning.pages import page

        out = Path(path) if self.folder is None else atomic.inside(self.folder, path or self.folder / "report.html")  # type: ignore[arg-type]
        atomic.write(out, page.render(self))
        return out

    def __repr__(self) -> str:
        h, good, running = self.header, len(self.successes), sum(e.ended < 0 for e in self)
        name = h.get("program", {}).get("command", h["function"])
        text = f"{len(self)} evaluations of {name} by {by(h)}, {len(self) - good - running} without a score"
        text += f", {running} running" if running else ""
        front = self.pareto
        if good and not front:
            text += f"; none satisfies {described(self.header['constraints'])}"
        if front:
            scores = ", ".join(f"{name} {front[0].metrics[name]:.6g}" for name in h["objectives"])
            single = f"; best: {scores} at {front[0].config}"
            text += single if len(h["objectives"]) == 1 else f"; {len(front)} on the Pareto front"
        return f"<Tuned: {text}>"

    def _repr_html_(self) -> str:
        return f"<p>{html.escape(repr(self)[1:-1])}</p>{self.to_frame().drop(columns='error').tail(10).to_html()}"


def load(folder: Path | str) -> Tuned:
    """Load the result of a search from its folder, finished or not; the function need not be importable.

    Raises:
        FileNotFoundError: The folder holds no search.
        ValueError: Its journal is damaged.
    """
    record = SearchRecord(folder)
    return Tuned(record.header, tuple(record.evaluations), Path(folder))
