"""How often the statistics are right: `python -m hpo_envs.benchmarks.performance.simulations` simulates studies.

Prints the tables of `docs/statistics.md`: coverage of the 95 % intervals, false winners on these environments and on
environments like these, and power. `--studies` sets the studies of a cell; a share of 5 % is known to .2 points (one
standard error) with the default of 10,000.

A score is `environment + interaction + run`: the standard deviation of a run is 1, that of an agent's interaction with
an environment is tau.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterable, Sequence

import numpy as np
import numpy.typing as npt
from scipy.special import stdtrit

from hpo_envs.benchmarks.analysis import intervals, power, significance
from hpo_envs.core import screen

Floats = npt.NDArray[np.float64]
Shape = Callable[[np.random.Generator, tuple[int, ...]], Floats]


def _normal(rng: np.random.Generator, size: tuple[int, ...]) -> Floats:
    return rng.standard_normal(size)


def _three(weights: tuple[float, float, float]) -> Shape:
    """Three values, 0, 1 and 2, with these probabilities."""
    values, p = np.arange(3.0), np.array(weights)
    mean = values @ p

    def draw(rng: np.random.Generator, size: tuple[int, ...]) -> Floats:
        return (rng.choice(values, p=p, size=size) - mean) / np.sqrt((values - mean) ** 2 @ p)

    return draw


def _lognormal(sigma: float) -> Shape:
    def draw(rng: np.random.Generator, size: tuple[int, ...]) -> Floats:
        mean = np.exp(sigma**2 / 2)
        return (np.exp(sigma * rng.standard_normal(size)) - mean) / (mean * np.sqrt(np.expm1(sigma**2)))

    return draw


def _zeros(rng: np.random.Generator, size: tuple[int, ...]) -> Floats:
    """80 % zeros, the others exponential: mean .2, variance .36."""
    return (np.where(rng.random(size) < 0.8, 0.0, rng.exponential(1.0, size)) - 0.2) / 0.6


SHAPES: dict[str, Shape] = {
    "normal": _normal,
    "three values": _three((0.25, 0.5, 0.25)),
    "three values, skewed": _three((0.6, 0.3, 0.1)),
    "lognormal .7": _lognormal(0.7),
    "lognormal 1.5": _lognormal(1.5),
    "80 % zeros": _zeros,
}
"""Distributions of a run around its mean, standardised."""


def batches(studies: int, size: int) -> list[int]:
    """Numbers of studies to draw at once, for studies of `size` numbers."""
    each = max(1, power.BATCH // size)
    return [min(each, studies - i) for i in range(0, studies, each)]


def coverage(shape: Shape, environments: int, seeds: int, studies: int, seed: int = 0) -> tuple[float, float]:
    """Share of studies whose interval for an agent's mean on these environments contains it, and share that is right.

    With several environments their standard deviations differ by exp(.7 z). A study in which no run of an environment
    differs from another has no interval, which is a miss for the first share. What is said instead, that other values
    come in at most 1 - .025^(1/n) of all runs, may be true, and counts for the second.
    """
    rng = np.random.default_rng(seed)
    values, counts = np.unique(shape(np.random.default_rng(1), (100_000,)), return_counts=True)
    likely = values[counts / 100_000 >= (1 - intervals.CONFIDENCE) ** (1 / seeds)]
    hits = true = 0
    for count in batches(studies, environments * seeds):
        spread = np.exp(0.7 * rng.standard_normal((count, environments, 1))) if environments > 1 else 1.0
        runs = shape(rng, (count, environments, seeds))
        e = intervals.here(runs * spread)
        hits += int(((e.low <= 0) & (e.high >= 0)).sum())
        equal = (runs == runs[..., :1]).all(axis=(1, 2))
        true += int((equal & np.isin(runs[..., 0], likely).all(axis=1)).sum())
    return hits / studies, (hits + true) / studies


def _candidates(x: Floats) -> dict[str, tuple[Floats, Floats]]:
    """Ends of intervals of the mean of (studies, seeds) values, by the names of methods."""
    n = x.shape[1]
    m, c = x.mean(axis=1), x - x.mean(axis=1, keepdims=True)
    with np.errstate(all="ignore"):
        se = np.sqrt((c**2).sum(axis=1) / (n - 1) / n)
        g = np.nan_to_num((c**3).sum(axis=1) / ((n - 1) * (n - 2) * n) / se**3)
    q = np.full(len(x), stdtrit(n - 1, intervals.CONFIDENCE))
    ends = {
        "t": (q, -q),
        "Johnson's t": (q - g / 6, -q - g / 6),
        "Hall's t": (intervals._inverse(q, g), intervals._inverse(-q, g)),
    }
    ends["the wider of t and Hall's t"] = np.maximum(q, ends["Hall's t"][0]), np.minimum(-q, ends["Hall's t"][1])
    return {name: (m - se * high, m - se * low) for name, (high, low) in ends.items()}


def false_here(
    shape: Shape,
    agents: int,
    environments: int,
    seeds: int,
    studies: int,
    *,
    shared: float = 0.0,
    unequal: float = 0.0,
    seed: int = 0,
) -> float:
    """Share of studies with a sole winner on these environments, where the two best agents are equal there.

    Agents interact with environments (tau .5, its mean over the environments 0), the others are worse by 1;
    `shared` is the correlation of runs with equal seeds over all environments; standard deviations of the runs of
    cells differ by exp(`unequal` z).
    """
    rng = np.random.default_rng(seed)
    hits = 0
    for count in batches(studies, agents * environments * seeds):
        tau = 0.5 * rng.standard_normal((count, agents, environments, 1))
        tau -= tau.mean(axis=2, keepdims=True)
        runs = _runs(rng, shape, (count, agents, environments, seeds), shared)
        if unequal:
            runs *= np.exp(unequal * rng.standard_normal((count, agents, environments, 1)))
        scores = tau + runs
        scores[:, 2:] += 1.0
        hits += int(_sole(scores, intervals.here).sum())
    return hits / studies


def false_elsewhere(
    null: str, agents: int, environments: int, seeds: int, studies: int, *, shared: float = 0.0, seed: int = 0
) -> float:
    """Share of studies with a sole winner on environments like these, where no agent is the best one of them all.

    Args:
        null: A key of `NULLS` or `APART`.
        agents: Number of agents.
        environments: Number of environments, each a cluster of its own.
        seeds: Runs a cell.
        studies: Studies simulated.
        shared: Correlation of runs with equal seeds over all environments.
        seed: Of the simulation.
    """
    rng = np.random.default_rng(seed)
    hits = 0
    for count in batches(studies, agents * environments * seeds):
        interaction, shape = {**NULLS, **APART}[null](rng, (count, agents, environments))
        scores = interaction[..., None] + _runs(rng, shape, (count, agents, environments, seeds), shared)
        hits += int(_sole(scores, intervals.elsewhere).sum())
    return hits / studies


def _equal(rng: np.random.Generator, size: tuple[int, ...]) -> tuple[Floats, Shape]:
    spread = np.exp(0.5 * rng.standard_normal((size[0], 1, size[2])))
    return 0.5 * spread * rng.standard_normal(size), _normal


def _tied(rng: np.random.Generator, size: tuple[int, ...]) -> tuple[Floats, Shape]:
    interaction, shape = _equal(rng, size)
    interaction[:, 2:] += 3.0
    return interaction, shape


def _wild(rng: np.random.Generator, size: tuple[int, ...]) -> tuple[Floats, Shape]:
    tau = np.full((size[1], 1), 0.3)
    tau[0] = 1.5
    return tau * rng.standard_normal(size), _normal


def _two_wild(rng: np.random.Generator, size: tuple[int, ...]) -> tuple[Floats, Shape]:
    tau = np.full((size[1], 1), 0.1)
    tau[:2] = 1.0
    return tau * rng.standard_normal(size), _normal


def _no_interaction(rng: np.random.Generator, size: tuple[int, ...]) -> tuple[Floats, Shape]:
    return np.zeros(size), _normal


def _ties(rng: np.random.Generator, size: tuple[int, ...]) -> tuple[Floats, Shape]:
    return 0.5 * rng.choice([-1.0, 0.0, 1.0], size=size), SHAPES["three values"]


def _many_zeros(rng: np.random.Generator, size: tuple[int, ...]) -> tuple[Floats, Shape]:
    return 0.3 * rng.standard_normal(size), _zeros


def _skewed_alone(rng: np.random.Generator, size: tuple[int, ...]) -> tuple[Floats, Shape]:
    interaction = np.zeros(size)
    interaction[:, 0] = 0.7 * (rng.exponential(1.0, (size[0], size[2])) - 1.0)
    return interaction, _normal


def _skewed(rng: np.random.Generator, size: tuple[int, ...]) -> tuple[Floats, Shape]:
    interaction = 0.5 * rng.standard_normal(size)
    interaction[:, 0] = 0.5 * (rng.exponential(1.0, (size[0], size[2])) - 1.0)
    return interaction, _normal


NULLS: dict[str, Callable[[np.random.Generator, tuple[int, ...]], tuple[Floats, Shape]]] = {
    "no interaction": _no_interaction,
    "equal, unequal variances": _equal,
    "two tied best": _tied,
    "one wild agent": _wild,
    "two wild agents": _two_wild,
    "ties": _ties,
}
"""Worlds in which no agent is best on environments like these: interaction of each cell, and the shape of its runs."""

APART: dict[str, Callable[[np.random.Generator, tuple[int, ...]], tuple[Floats, Shape]]] = {
    "80 % zeros": _many_zeros,
    "one agent's interaction skewed": _skewed,
    "the same, and no other agent interacts": _skewed_alone,
}
"""Worlds in which the bound of 7 % is not claimed."""


def _runs(rng: np.random.Generator, shape: Shape, size: tuple[int, ...], shared: float) -> Floats:
    luck = shape(rng, (size[0], size[1], 1, size[3])) if shared else 0.0
    return np.sqrt(shared) * luck + np.sqrt(1 - shared) * shape(rng, size)


def _sole(scores: Floats, estimate: Callable[[Floats], intervals.Estimate]) -> npt.NDArray[np.bool_]:
    """Whether the agent with the lowest mean is called the winner, in each study; scores (studies, agents, E, S)."""
    first = scores.mean(axis=(2, 3)).argmin(axis=1)
    others = np.array([[j for j in range(scores.shape[1]) if j != i] for i in range(scores.shape[1])])
    rows = np.arange(len(scores))
    d = scores[rows, first][:, None] - scores[rows[:, None], others[first]]
    return np.asarray(significance.leader(estimate(d).p)[0])


def unlike(shape: Shape, environments: int, seeds: int, studies: int, seed: int = 0) -> float:
    """Share of studies with a winner here among two agents of equal mean, one constant and one of this shape."""
    rng = np.random.default_rng(seed)
    hits = 0
    for count in batches(studies, environments * seeds):
        hits += int((intervals.here(shape(rng, (count, environments, seeds))).p < intervals.ALPHA).sum())
    return hits / studies


def _table(title: str, head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    print(f"\n{title}\n")
    for row in (head, ["---"] * len(head), *rows):
        print("| " + " | ".join(row) + " |", flush=True)


def _percent(shares: Iterable[float]) -> list[str]:
    return [f"{100 * share:.1f}" for share in shares]


def _coverage(n: int) -> None:
    cells = [(1, 3), (1, 5), (1, 10), (1, 20), (1, 100), (3, 5), (6, 5), (6, 20), (24, 5), (24, 20)]
    rows = []
    for name, shape in SHAPES.items():
        shares = [[f"{100 * share:.1f}" for share in coverage(shape, e, k, n)] for e, k in cells]
        rows.append([name, *(a if a == b else f"{a} ({b})" for a, b in shares)])
    title = f"Coverage of the 95 % interval of one agent's mean on these environments, % ({n} studies a cell)"
    _table(title, ["environments x seeds", *(f"{e} x {k}" for e, k in cells)], rows)


def _intervals(n: int) -> None:
    chosen = ("normal", "three values", "three values, skewed", "lognormal .7", "lognormal 1.5")
    rows: dict[str, list[str]] = {}
    for name in chosen:
        for k in (5, 10, 20):
            drawn = SHAPES[name](np.random.default_rng(0), (n, k))
            drawn = drawn[np.ptp(drawn, axis=1) > 0]
            for method, (low, high) in _candidates(drawn).items():
                rows.setdefault(method, []).append(f"{100 * np.mean((low <= 0) & (high >= 0)):.1f}")
    title = (
        f"Coverage of intervals on one environment with 5, 10 and 20 seeds where runs differ, % ({n} studies a cell)"
    )
    joined = [[method, *(" ".join(r[i : i + 3]) for i in range(0, len(r), 3))] for method, r in rows.items()]
    _table(title, ["interval", *chosen], joined)


SIZES = [(k, e, 10) for k in (2, 7, 16) for e in (6, 8, 24)]
"""Agents, environments and seeds of the tables of false winners."""


def _here(n: int) -> None:
    head = ["agents x environments", *(f"{k} x {e}" for k, e, _ in SIZES)]
    rows = [[name, *_percent(false_here(shape, *c, n) for c in SIZES)] for name, shape in SHAPES.items()]
    values = _percent(false_here(_normal, *c, n, unequal=0.7) for c in SIZES)
    rows.append(["normal, unequal variances", *values])
    for rho in (0.3, 0.65):
        values = _percent(false_here(_normal, *c, n, shared=rho) for c in SIZES)
        rows.append([f"normal, seeds shared by all environments ({rho})", *values])
    _table(f"False sole winners on these environments, % (two tied best, 10 seeds, {n} studies a cell)", head, rows)
    cells = [(1, 5), (1, 10), (1, 20), (6, 10)]
    rows = [[name, *_percent(unlike(s, e, k, n) for e, k in cells)] for name, s in SHAPES.items()]
    title = f"The same where one of two agents is constant and the other is of this shape, % ({n} studies a cell)"
    _table(title, ["environments x seeds", *(f"{e} x {k}" for e, k in cells)], rows)


def _elsewhere(n: int) -> None:
    rows = [[name, *_percent(false_elsewhere(name, *c, n) for c in SIZES)] for name in (*NULLS, *APART)]
    values = _percent(false_elsewhere("two tied best", *c, n, shared=0.3) for c in SIZES)
    rows.append(["two tied best, seeds shared by all environments (0.3)", *values])
    title = f"False sole winners on environments like these, % (10 seeds, {n} studies a cell)"
    _table(title, ["agents x environments", *(f"{k} x {e}" for k, e, _ in SIZES)], rows)


def _power(n: int) -> None:
    effects = (0.2, 0.3, 0.5, 0.8, 1.2)
    rows = []
    for tau in (0.3, 0.5, 0.8):
        for e, k in ((1, 20), (6, 5), (6, 20), (6, 100), (12, 20), (24, 5), (24, 20)):
            values = [power.winners(power.Study(e, k, tau=tau), x, n) for x in effects]
            rows.append([f"{tau:g}", f"{e} x {k}", *(f"{100 * a:.0f} / {100 * b:.0f}" for a, b in values)])
    title = f"True winners of two agents, %: on these environments / on environments like these ({n} studies a cell)"
    _table(title, ["tau", "environments x seeds", *(f"effect {x:g}" for x in effects)], rows)


def _replicates(n: int) -> None:
    rows = []
    for luck in (0.0, 0.5, 0.85):
        for e, k, r in ((6, 20, 1), (6, 20, 5), (6, 20, 20), (6, 100, 1), (6, 100, 100), (24, 20, 1)):
            shares = [power.winners(power.Study(e, k, r, luck=luck), effect, n)[1] for effect in (0.0, 1.0)]
            rows.append([f"{luck:g}", f"{e} x {k}", str(r), *_percent(shares)])
    title = (
        f"Named as the winner on environments like these, %, tau .5, by replicates of each table ({n} studies a cell)"
    )
    _table(title, ["luck", "environments x seeds", "replicates", "falsely", "better by 1"], rows)


def _speed(n: int) -> None:
    rng, n, rows = np.random.default_rng(0), min(n, 20), []
    for agents, environments, seeds in ((2, 6, 20), (7, 8, 20), (16, 24, 20), (16, 24, 100)):
        seconds = []
        for _ in range(n):
            scores = {str(a): rng.standard_normal((environments, seeds)) for a in range(agents)}
            start = time.process_time()
            significance.judged(scores, range(environments))
            seconds.append(time.process_time() - start)
        rows.append([f"{agents} x {environments} x {seeds}", f"{np.median(seconds):.3f}"])
    title = f"Seconds of processor time until a study is judged (median of {n} studies a cell)"
    _table(title, ["agents x environments x seeds", "seconds"], rows)


TABLES: dict[str, Callable[[int], None]] = {
    "coverage": _coverage,
    "intervals": _intervals,
    "here": _here,
    "elsewhere": _elsewhere,
    "power": _power,
    "replicates": _replicates,
    "speed": _speed,
}
"""What can be printed."""


@screen.on()
def main(arguments: Sequence[str] | None = None) -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--studies", type=int, default=10_000, help="simulated studies a cell (default: %(default)s)")
    parser.add_argument("--only", choices=tuple(TABLES), help="one table")
    args = parser.parse_args(arguments)
    for name in (args.only,) if args.only else TABLES:
        TABLES[name](args.studies)


if __name__ == "__main__":
    main()
