"""Diversity of the tasks of tables that ship: `python -m hpo_envs.benchmarks.tasks.diversity [--out FOLDER]`.

Tables of a family with the same hyperparameters and first metric share a search space if at least 40 of its
configurations were measured in both. For each space: rank correlations of the final scores (first metric, mean of
repeats) between tables, corrected for noise where configurations were repeated; the effective number of tables, which
is the participation ratio of the eigenvalues of that matrix; and the importance of each hyperparameter by table, where
scores below the median count as the median. Failed runs have the worst score. With `--out`, correlations and importance
are drawn for spaces of three or more tables.
"""

import argparse
import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from hpo_envs.benchmarks.analysis import forest_importance
from hpo_envs.benchmarks.tasks.pools import scores as scores_of
from hpo_envs.benchmarks.tasks.pools import shipped
from hpo_envs.tables import catalogue, screen, store
from hpo_envs.tables.table import Floats, Table

FEWEST = 40
"""Fewest common configurations of tables that share a space."""


@dataclass(frozen=True, eq=False)
class SharedSpace:
    """A search space, and the tables that measured the same configurations in it."""

    name: str  # family and model classes of its tables; the name of the first if they are not in the catalogue
    tables: tuple[str, ...]
    correlation: Floats  # (n, n) rank correlations of the tables' scores
    reliability: Floats  # (n,) rank correlation of a table's mean scores with those of new repeats; NaN without repeats
    hyperparameters: tuple[str, ...]  # names of the d that vary in a table
    importance: Floats  # (n, d) fraction of the variance of scores that each hyperparameter explains alone
    configurations: int  # number of configurations that all tables have

    @property
    def corrected(self) -> Floats:
        """(n, n) correlations corrected for the noise of repeats, at most 1; uncorrected for tables without repeats."""
        scale = np.sqrt(np.where(np.isnan(self.reliability), 1.0, np.maximum(self.reliability, 1e-9)))
        found = np.clip(self.correlation / np.outer(scale, scale), -1.0, 1.0)
        np.fill_diagonal(found, 1.0)
        return np.asarray(found)


def effective(correlation: Floats) -> float:
    """Return the participation ratio of an (n, n) correlation matrix: 1 for perfect correlation, n for none."""
    return float(np.trace(correlation) ** 2 / np.square(correlation).sum())


def between(space: SharedSpace) -> Floats:
    """Return the (pairs,) corrected correlations of all pairs of different tables."""
    return np.asarray(space.corrected[np.triu_indices(len(space.tables), 1)])


def different(space: SharedSpace) -> npt.NDArray[np.bool_]:
    """Return the (pairs,) mask of pairs from two task groups; a table outside the catalogue is a group of its own."""
    known = catalogue.settings()
    groups = [known[name].group if name in known else name for name in space.tables]
    return np.array([a != b for a, b in itertools.combinations(groups, 2)])


def spaces(tables: Iterable[Table]) -> list[SharedSpace]:
    """Return the search spaces that at least two of the tables share, in the order of their first tables."""
    alike: dict[Any, list[Table]] = {}
    for table in tables:
        if table.space:
            keys = frozenset(_keys(table))
            same = (k for k in alike if k[0] == _space(table) and len(k[1] & keys) >= FEWEST)
            alike.setdefault(next(same, (_space(table), keys)), []).append(table)
    return [_made(some) for some in alike.values() if len(some) > 1]


def _space(table: Table) -> tuple[Any, ...]:
    return (table.name.partition("/")[0], tuple(h.name for h in table.space), table.metric_names[0])


def _keys(table: Table) -> list[tuple[float, ...]]:
    return [tuple(row) for row in table.configs.tolist()]


def _made(tables: Sequence[Table]) -> SharedSpace:
    places = [{key: row for row, key in reversed([*enumerate(_keys(t))])} for t in tables]
    common = [key for key in places[0] if all(key in p for p in places)]
    scores = [scores_of(t, t.metric_names[0])[[p[key] for key in common]] for t, p in zip(tables, places, strict=True)]
    found = [_importance(t) for t in tables]
    names = tuple(dict.fromkeys(name for f in found for name in f))
    return SharedSpace(
        _name(tables),
        tuple(t.name for t in tables),
        _ranked([np.nanmean(s, axis=1) for s in scores]),
        np.array([reliability(s) for s in scores]),
        names,
        np.array([[f.get(name, 0.0) for name in names] for f in found]),
        len(common),
    )


def reliability(scores: Floats) -> float:
    """Return the rank correlation of mean scores with those of new repeats (Spearman-Brown); NaN for one repeat."""
    repeats = scores.shape[1]
    if repeats < 2:
        return float("nan")
    one = float(np.mean(_ranked(list(scores.T))[np.triu_indices(repeats, 1)]))
    return float(repeats * one / (1.0 + (repeats - 1.0) * one))


def _ranked(columns: Sequence[Floats]) -> Floats:
    from scipy.stats import rankdata

    return np.atleast_2d(np.corrcoef([rankdata(c) for c in columns]))


def _importance(table: Table) -> dict[str, float]:
    x, axes = forest_importance.space_of(table)
    scores = np.nanmean(scores_of(table, table.metric_names[0]), axis=1)
    found = forest_importance.importance(x, scores, axes, cutoff=float(np.median(scores)), trees=15)
    return dict(zip(found.names, found.main.tolist(), strict=True))


def _name(tables: Sequence[Table]) -> str:
    known = [catalogue.settings().get(t.name) for t in tables]
    models = dict.fromkeys(k.model for k in known if k)
    return f"{tables[0].name.partition('/')[0]}: {', '.join(models)}" if models else tables[0].name


def lines(found: Sequence[SharedSpace]) -> list[str]:
    """Return the spaces as the lines of a Markdown table."""
    head = ("space", "tables", "configurations", "rank correlation: range, median", "between task groups: median, most")
    rows: list[Sequence[str]] = [(*head, "reliability", "effective tables", "leading hyperparameters"), ("---",) * 8]
    for s in found:
        rho, apart, noise = between(s), between(s)[different(s)], s.reliability[~np.isnan(s.reliability)]
        order = np.argsort(-s.importance.mean(axis=0))[:2]
        ends = [(s.hyperparameters[i], s.importance[:, i].min(), s.importance[:, i].max()) for i in order]
        between_groups = f"{np.median(apart):.2f}, {apart.max():.2f}" if len(apart) else "one group"
        row = [s.name, str(len(s.tables)), str(s.configurations)]
        row += [f"{rho.min():.2f} to {rho.max():.2f}, {np.median(rho):.2f}", between_groups]
        row += [f"{np.median(noise):.2f}" if len(noise) else "one run", f"{effective(s.corrected):.2f}"]
        rows.append([*row, ", ".join(f"`{name}` {low:.2f} to {high:.2f}" for name, low, high in ends)])
    return [f"| {' | '.join(row)} |" for row in rows]


def draw(found: Sequence[SharedSpace], path: Path) -> list[Path]:
    """Draw correlations (top) and importance (bottom), a column per space of three or more tables; return the files."""
    from hpo_envs.benchmarks.plots import panels, save

    found = [s for s in found if len(s.tables) > 2]
    figure, (above, below) = panels(2, max(len(found), 2), (2.6 * max(len(found), 2), 5.4))
    for space, top, bottom in zip(found, above, below, strict=False):
        labels = [name.partition("/")[2] for name in space.tables]
        ticks = range(len(labels))
        top.imshow(space.corrected, vmin=0.0, vmax=1.0, cmap="cividis")
        top.set_title(space.name, fontsize=8)
        top.set_xticks([])
        bottom.imshow(space.importance, vmin=0.0, vmax=0.8, cmap="cividis", aspect="auto")
        bottom.set_xticks(range(len(space.hyperparameters)), space.hyperparameters, rotation=90, fontsize=5)
        for axes in (top, bottom):
            axes.grid(False)
            axes.set_yticks(ticks, labels, fontsize=5)
    return save(figure, path, dpi=110)


@screen.on()
def main(words: Sequence[str] | None = None) -> None:
    """Print the spaces and the number of similar pairs of tables; with `--out`, draw those of three or more tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, help="folder of the picture")
    args = parser.parse_args(words)
    found = spaces(map(store.load, shipped()))
    print(*lines(found), sep="\n")
    near = [(r, *pair) for s in found for r, pair in zip(between(s), itertools.combinations(s.tables, 2), strict=True)]
    print(f"\n{sum(r > 0.9 for r, *_ in near)} of {len(near)} pairs correlate by more than 0.9")
    if args.out:
        print(*draw(found, args.out / "diversity"), sep="\n")


if __name__ == "__main__":
    main()
