"""Common parts of reproductions: published values, verdicts, processes and results.

A paper's folder has `reproduce` (the parts and their figures), `expected.csv` (the published numbers),
`mechanisms.csv` (why numbers differ) and `results/` (committed results); longer reproductions also have modules such as
`settings` (runs, as data) and `analysis` (pure functions of results).
"""

import contextlib
import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Literal, get_args

from tqdm.auto import tqdm

from hpo_envs.benchmarks.plots import panels, save
from hpo_envs.benchmarks.report import terminal
from hpo_envs.benchmarks.runs import executors
from hpo_envs.tables.checks import one_of
from hpo_envs.tables.files import atomic

Record = dict[str, Any]
Plot = Callable[..., None]

Verdict = Literal["agrees", "differs", "not at hand", "never published"]
"""Verdict on a published number: ours agrees up to chance and rounding, or differs; or the data it needs are public but
not installed, or were never released."""


@dataclass(frozen=True)
class Published:
    """A published value."""

    text: str  # the value as printed; `k` or `M` at the end stands for thousands or millions
    details: Mapping[str, str] = field(default_factory=dict)  # columns of `expected.csv` after `published`

    @property
    def _unit(self) -> float:
        return {"k": 1e3, "M": 1e6}.get(self.text[-1], 1.0)

    @property
    def value(self) -> float:
        """The value as a number."""
        return float(self.text.rstrip("kM")) * self._unit

    @property
    def decimals(self) -> int:
        """Number of printed decimals."""
        return len(self.text.rstrip("kM").partition(".")[2])

    def judge(self, low: float, high: float | None = None) -> Verdict:
        """Return `agrees` if our value, or the range from `low` to `high`, has the printed digits, else `differs`."""
        nearest = min(max(self.value, low), low if high is None else high)
        return judge(nearest - self.value, 0.5 * 10.0**-self.decimals * self._unit * (1 + 1e-9))


@functools.cache
def expected(paper: str) -> dict[tuple[str, ...], Published]:
    """Return the published values of a paper (name of its folder); cached.

    Keys are the values of the columns of its `expected.csv` before `published`.
    """
    found = {}
    for row in atomic.read_csv(Path(__file__).parent / paper / "expected.csv"):
        names = list(row)
        last = names.index("published")
        key = tuple(row[n] for n in names[:last])
        found[key] = Published(row["published"], {n: row[n] for n in names[last + 1 :]})
    return found


def judge(difference: float, tolerance: float) -> Literal["agrees", "differs"]:
    """Return `agrees` if our value differs from the published one by at most the tolerance, else `differs`."""
    return "agrees" if abs(difference) <= tolerance else "differs"


def counted(records: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    """Return the number of records with each verdict; 0 for verdicts that do not occur."""
    return {v: sum(r["verdict"] == v for r in records) for v in get_args(Verdict)}


COMPARED = ("where", "quantity", "published", "ours", "verdict", "mechanism")
"""Columns of `compared.csv`."""


@functools.cache
def _mechanisms(paper: str) -> tuple[dict[str, str], ...]:
    return tuple(atomic.read_csv(Path(__file__).parent / paper / "mechanisms.csv"))


def _mechanism(paper: str, where: str, quantity: str) -> str:
    """Return the first reason in `mechanisms.csv` why a number differs or cannot be compared; empty without one."""
    rows = (m for m in _mechanisms(paper) if fnmatchcase(where, m["where"]) and fnmatchcase(quantity, m["quantity"]))
    return next((m["mechanism"] for m in rows), "")


@dataclass
class Reproduction(contextlib.ExitStack):
    """Settings and results of a reproduction; a context manager that closes its processes."""

    out: Path  # folder for results, which exists
    _: KW_ONLY
    trials: int | None = None  # number of seeds of each method; None: the paper's number
    jobs: int = 1  # number of processes
    seed: int = 0  # first seed
    paper: str = ""  # name of the paper's folder
    compared: list[Record] = field(default_factory=list)  # published numbers and ours, see `compare_published`

    def __post_init__(self) -> None:
        super().__init__()

    @functools.cached_property
    def _executor(self) -> executors.Calls:
        return self.enter_context(executors.of_jobs(self.jobs))

    def seeds(self, usual: int) -> range:
        """Return the seeds of an experiment, from `seed` on: `trials` of them, or as many as in the paper (`usual`)."""
        return range(self.seed, self.seed + (self.trials or usual))

    def map(
        self, function: Callable[..., Any], arguments: Sequence[tuple[Any, ...]], label: str, unit: str = "run"
    ) -> list[Any]:
        """Return a function's results for all tuples of arguments, in order; a progress bar is shown.

        With several jobs, calls run in parallel, and the function and its arguments must be picklable. `label` is the
        title of the bar, `unit` the name of a call in it.
        """
        results: list[Any] = [None] * len(arguments)
        with tqdm(total=len(arguments), desc=label, unit=unit, leave=False) as bar:
            for i, result in self._executor.map(functools.partial(_apart, function), arguments):
                results[i] = result
                bar.update()
        return results

    def compare_published(
        self, where: str, quantity: str, published: str, ours: str, verdict: Verdict, why: str = ""
    ) -> None:
        """Append a published number and ours (empty if it is not computed) to `compared`, for `compared.csv`.

        `where` is the table, figure or section, `quantity` the name of the number, `why` the reason if they do not
        agree, by default the one in `mechanisms.csv`.
        """
        mechanism = "" if verdict == "agrees" else why or _mechanism(self.paper, where, quantity)
        values = (where, quantity, published, ours, verdict, mechanism)
        self.compared.append(dict(zip(COMPARED, values, strict=True)))

    def write(self, name: str, records: Sequence[Mapping[str, Any]]) -> None:
        """Write `{name}.csv` with the columns of all records; missing values are empty."""
        columns = list(dict.fromkeys(k for r in records for k in r))
        atomic.write_csv(self.out / f"{name}.csv", records, columns)

    def draw(
        self, name: str, size: tuple[float, float], plot: Plot, *data: Any, shape: Sequence[int] = (1, 1), **more: Any
    ) -> None:
        """Draw a figure as `{name}.png` and `{name}.svg`, and print these paths; without matplotlib, how to install it.

        `plot` gets the axes, a flat array of them if `shape` (rows and columns) has several, and then the data. `size`
        is that of a panel in inches; further arguments are those of `plots.panels`.
        """
        (rows, columns), (width, height) = shape, size
        try:
            figure, axes = panels(rows, columns, (width * columns, height * rows), **more)
        except ModuleNotFoundError as error:
            print(error)
            return
        plot(axes.ravel() if axes.size > 1 else axes[0, 0], *data)
        print("figures: " + ", ".join(map(str, save(figure, self.out / name))))


def _apart(function: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
    return function(*arguments)


Parts = Mapping[str, Callable[[Reproduction], Sequence[Mapping[str, Any]] | None]]
"""Name of a part -> its function, whose rows, if it returns any, are printed and written under the name."""


def reproduce(
    paper: str, parts: Parts, out: Path, *, only: str | None = None, studies: Parts | None = None, **settings: Any
) -> int:
    """Run the parts of a paper (the name of its folder), or only the requested one; return 0.

    `studies` are further parts, which run only if requested; `settings` are further arguments of `Reproduction`. The
    folder `out` is created; it gets the rows of each part and, if numbers were compared, `compared.csv`. An unknown
    part raises a ValueError.
    """
    every = {**parts, **(studies or {})}
    if only is not None:
        one_of("only", only, every)
    with Reproduction(out, paper=paper, **settings) as r:
        out.mkdir(parents=True, exist_ok=True)
        for name, part in parts.items() if only is None else ((only, every[only]),):
            before = len(r.compared)
            if rows := part(r):
                r.write(name, rows)
                show(f"{name}: {(part.__doc__ or ' ').splitlines()[0]}", rows)
            if new := r.compared[before:]:
                counts = ", ".join(f"{n} {verdict}" for verdict, n in counted(new).items())
                print(f"{name}: of {len(new)} published numbers {counts}")
        if r.compared:
            atomic.write_csv(out / "compared.csv", r.compared, COMPARED)
    print(f"\nwritten to {out}/")
    return 0


def show(title: str, rows: Sequence[Mapping[str, Any]]) -> None:
    """Print a titled table with every column that occurs in a row; missing values and None are left blank."""
    columns = list(dict.fromkeys(k for row in rows for k in row))
    cells = [["" if row.get(c) is None else str(row[c]) for c in columns] for row in rows]
    print(f"\n{title}\n{terminal.aligned([columns, *cells])}")
